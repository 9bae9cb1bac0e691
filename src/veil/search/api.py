"""Search, and ask again with what was released: the verbs of this package."""

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
    """Open an engine: over a collection, over a saved one, or somewhere on a network.

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
        The true query; it stays on this machine.
    mechanism, space
        What makes the variants, as for `protect`.
    engine
        Who is asked; see `engine`.
    size
        Variants that are sent; each one is another release and adds to the cost.
    k
        Items asked for with each variant, and length of the result.
    encoder
        Re-ranks by the true query what came back: an encoder, its spec, or None to fuse the lists
        by ranks alone.
    letters
        Weight of the words and letters that a result shares with the query, beside the cosine of
        the encoder: ``veil search`` has 0.2. See `veil.search.rerank.Reranker`.
    choices
        ``unknown``, ``policies``, ``select`` and ``rng``, as for `protect`. A release with a seed
        is refused by engines on a network.
    """
    pipeline.check_query(query)  # before an encoder is fetched, or documents are encoded
    chosen = None if encoder is None else reranker(encoder, engine, report, letters=letters)
    return pipeline.search(query, mechanism, space, engine, size, k, reranker=chosen, **choices)


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
    """Ask with strings that were released before, and re-rank by the true query what comes back.

    With ``[declassify(query)]`` this is the plain engine and the re-ranker.
    """
    pipeline.check_query(query)
    chosen = None if encoder is None else reranker(encoder, engine, report, letters=letters)
    return pipeline.ask(query, released, engine, k, chosen)[0]


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
    """Return the share of the plain search's first `depth` results that are among ours.

    Both lists are re-ranked by the encoder. With ``deep=True`` plain search puts as many documents
    in order as all variants brought together, which is the fair comparison: 20 variants with 100
    documents each give the encoder up to 2,000 to choose from.

    None for an engine on a network, which would have to see the query, and where the query by
    itself finds nothing.
    """
    chosen = None if encoder is None else reranker(encoder, engine, letters=letters)
    found = pipeline.came_back(query, result, engine, depth, reranker=chosen, deep=deep)
    return None if found is None else found[0] / found[1]
