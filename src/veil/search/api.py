"""Search privately, or query an engine with strings that are already released."""

from collections.abc import Sequence
from typing import Unpack

from veil.core.types import Encoder, Engine, Ranking, Released
from veil.corpus.collection import Collection
from veil.data.fetch import Report, no_progress
from veil.search import pipeline
from veil.search.engines import ENGINES
from veil.search.pipeline import SearchResult
from veil.search.rerank import reranker
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.vectors.embeddings import Embeddings


def engine(
    spec: str, collection: Collection | None = None, report: Report = no_progress
) -> Engine:
    """Open an engine over a collection, over a saved collection, or on a network.

    ``engine("bm25", collection)``, ``engine("dense(index=idx)")``,
    ``engine("opensearch(url=http://127.0.0.1:9200, index=docs)")``.
    """
    return ENGINES.parse(spec).open(collection, report)


def search(
    query: str,
    mechanism: TextMechanism,
    space: Embeddings | None,
    engine: Engine,
    size: int = 20,
    k: int = 100,
    *,
    encoder: Encoder | str | None = "minilm",
    letters: float = 0.0,
    report: Report = no_progress,
    **choices: Unpack[pipeline.SearchOptions],
) -> SearchResult:
    """Search for a query that the engine never sees.

    Parameters
    ----------
    query
        The true query. It stays on this machine.
    mechanism, space
        The mechanism and word vectors that make the variants, as for `protect`.
    engine
        The search engine to query; see `engine`.
    size
        Number of variants to send. Each variant is another release and adds to the cost.
    k
        Items to request for each variant, and length of the result.
    encoder
        Model that re-ranks the results by the true query: an encoder, its spec, or None to fuse
        the lists by ranks only.
    letters
        Weight of the words and letters that a result shares with the query, added to the cosine
        of the encoder. ``veil search`` uses 0.2. See `veil.search.rerank.Reranker`.
    choices
        ``unknown``, ``policies``, ``select`` and ``rng``, as for `protect`. Engines on a network
        refuse a release with a seed.
    """
    pipeline.check_query(query)  # before an encoder is fetched, or documents are encoded
    model = None if encoder is None else reranker(encoder, engine, report, letters=letters)
    return pipeline.search(query, mechanism, space, engine, size, k, reranker=model, **choices)


def ask(
    query: str,
    released: Sequence[Released],
    engine: Engine,
    k: int = 100,
    *,
    encoder: Encoder | str | None = "minilm",
    letters: float = 0.0,
    report: Report = no_progress,
) -> Ranking:
    """Query an engine with released strings, and re-rank the results by the true query.

    With ``[declassify(query)]`` this is plain search with re-ranking.
    """
    pipeline.check_query(query)
    model = None if encoder is None else reranker(encoder, engine, report, letters=letters)
    return pipeline.ask(query, released, engine, k, model)[0]


def came_back(
    query: str,
    result: SearchResult,
    engine: Engine,
    depth: int = 10,
    *,
    encoder: Encoder | str | None = "minilm",
    letters: float = 0.0,
    deep: bool = False,
) -> float | None:
    """Return the share of the first `depth` plain results that `result` also ranks that high.

    Both lists are re-ranked by the encoder. With ``deep=True`` plain search re-ranks as many
    documents as all variants returned together, which is the fair comparison: 20 variants with
    100 documents each give the encoder up to 2,000 to choose from.

    None for an engine on a network, which would have to see the query, and if plain search finds
    nothing.
    """
    model = None if encoder is None else reranker(encoder, engine, letters=letters)
    overlap = pipeline.came_back(query, result, engine, depth, reranker=model, deep=deep)
    return None if overlap is None else overlap[0] / overlap[1]
