"""The registry of search engines. Each engine is imported on first use."""

from veil.core.registry import Registry
from veil.search.engines.engine import EngineSpec as EngineSpec
from veil.search.engines.engine import Hit as Hit
from veil.search.engines.engine import check_call as check_call
from veil.search.engines.engine import ranking as ranking

ENGINES: Registry[EngineSpec] = Registry(
    noun="engine",
    group="veil.engines.search",
    former=("veil.engines",),
    builtin={
        "bm25": "veil.search.engines.local.lexical:BM25",
        "dense": "veil.search.engines.local.dense:Dense",
        "http": "veil.search.engines.network.http:Http",
        "opensearch": "veil.search.engines.network.opensearch:OpenSearch",
        "postgres": "veil.search.engines.network.postgres:Postgres",
        "replay": "veil.search.engines.local.replay:Replay",
        "searxng": "veil.search.engines.network.searxng:SearXNG",
        "tfidf": "veil.search.engines.local.lexical:TfIdf",
    },
)
"""Engines, including those of plugins: `names()`, `get(name)`, `parse(spec)`."""
