"""The table of engines; each row is loaded on first use."""

from veil.core.registry import Registry
from veil.retrieval.engines.engine import EngineSpec

ENGINES: Registry[EngineSpec] = Registry(
    noun="engine",
    group="veil.engines",
    builtin={
        "bm25": "veil.retrieval.engines.bm25:BM25",
        "dense": "veil.retrieval.engines.dense:Dense",
        "http": "veil.retrieval.engines.http:Http",
        "opensearch": "veil.retrieval.engines.opensearch:OpenSearch",
        "postgres": "veil.retrieval.engines.postgres:Postgres",
        "replay": "veil.retrieval.engines.replay:Replay",
        "searxng": "veil.retrieval.engines.searxng:SearXNG",
        "tfidf": "veil.retrieval.engines.tfidf:TfIdf",
    },
)
