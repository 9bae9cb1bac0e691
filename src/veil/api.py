"""The verbs of the toolkit; the doors (the command line) do no work of their own."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from itertools import islice
from typing import TypedDict, Unpack

from veil.attacks import run
from veil.attacks.attack import AttackSpec
from veil.attacks.log import QueryLog
from veil.core.errors import InputError, ParameterError, UnprotectedError
from veil.core.protocols import Encoder, Engine
from veil.core.ranks import Ranks
from veil.core.rng import stream
from veil.core.types import Ranking, Released, Variants
from veil.data.assets import load_embeddings
from veil.data.collection import Collection
from veil.data.collections import load_collection
from veil.data.embeddings import Embeddings
from veil.data.fetch import Report, silent
from veil.data.select import Select
from veil.data.text import MAX_CHARS, check_text
from veil.encoders.find import encoder
from veil.measures.quipu import quipu
from veil.measures.risk import risk
from veil.measures.similarity import similarity
from veil.mechanisms.find import mechanism
from veil.mechanisms.mechanism import TextMechanism
from veil.mechanisms.protect import protect
from veil.mechanisms.words._plan import Policy, Unknown
from veil.mechanisms.words.explain import explain, law, log_ratio
from veil.retrieval import pipeline
from veil.retrieval.engines import ENGINES
from veil.retrieval.pipeline import SearchResult
from veil.retrieval.rerank import reranker

__all__ = [
    "ask",
    "attack",
    "came_back",
    "declassify",
    "encoder",
    "engine",
    "explain",
    "law",
    "load_collection",
    "load_embeddings",
    "log_ratio",
    "mechanism",
    "protect",
    "protect_stream",
    "quipu",
    "risk",
    "search",
    "similarity",
]


def declassify(text: str) -> Released:
    """Say, on purpose, that a text may leave the machine as it is."""
    return Released(text)


def engine(spec: str, collection: Collection | None = None, report: Report = silent) -> Engine:
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
    report: Report = silent,
    **choices: Unpack[pipeline.Choices],
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
    choices
        ``unknown``, ``policies``, ``select`` and ``rng``, as for `protect`. A release with a seed
        is refused by engines on a network.
    """
    pipeline.check_query(query)  # before an encoder is fetched, or documents are encoded
    chosen = None if encoder is None else reranker(encoder, engine, report)
    return pipeline.search(query, mechanism, space, engine, size, k, reranker=chosen, **choices)


def ask(
    query: str,
    released: Sequence[Released],
    engine: Engine,
    k: int = 100,
    *,
    encoder: Encoder | str | None = "minilm",
    report: Report = silent,
) -> Ranking:
    """Ask with strings that were released before, and re-rank by the true query what comes back.

    With ``[declassify(query)]`` this is the plain engine and the re-ranker.
    """
    pipeline.check_query(query)
    chosen = None if encoder is None else reranker(encoder, engine, report)
    return pipeline.ask(query, released, engine, k, chosen)[0]


def came_back(
    query: str,
    result: SearchResult,
    engine: Engine,
    depth: int = 10,
    *,
    encoder: Encoder | str | None = "minilm",
) -> float | None:
    """Return the share of the plain search's first `depth` results that are among ours.

    Both lists are re-ranked by the encoder. None for an engine on a network, which would have to
    see the query, and where the query by itself finds nothing.
    """
    chosen = None if encoder is None else reranker(encoder, engine)
    found = pipeline.came_back(query, result, engine, depth, reranker=chosen)
    return None if found is None else found[0] / found[1]


def attack(
    variants: Variants | Sequence[Sequence[str]],
    originals: Sequence[str],
    log: QueryLog | Iterable[str] | None = None,
    attacker: str | AttackSpec = "inference",
    *,
    encoder: str | Encoder | None = None,
    mechanism: str | TextMechanism | None = None,
    space: Embeddings | str | None = None,
    report: Report = silent,
) -> Ranks:
    """Return the rank of each original among the guesses of an attacker; 1 is the first guess.

    `veil.risk` makes a risk of ranks, and counts guesses that stand as high as the truth, which
    are in the attribute `ties`, as tried in any order. An original that the log lacks has rank
    len(log) + 1: the risk is then a lower bound. `veil.attacks.run.attack` has the details, and
    tells among how many the attacker chose. `space` may be the name of vectors, or their path.
    """
    if isinstance(space, str):
        space = load_embeddings(space, report)
    found = run.attack(
        variants,
        originals,
        log,
        attacker,
        encoder=encoder,
        mechanism=mechanism,
        space=space,
        report=report,
    )
    return Ranks(found.ranks, found.ties)


class Choices(TypedDict, total=False):
    """The choices of `protect` that `protect_stream` hands on."""

    unknown: Unknown
    policies: dict[str, Policy]
    select: Select | None
    max_chars: int
    in_clear: bool


def protect_stream(
    texts: Iterable[str],
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int = 1,
    *,
    batch: int = 4096,
    executor: Executor | None = None,
    in_flight: int = 4,
    seed: int | None = None,
    **choices: Unpack[Choices],
) -> Iterator[Variants]:
    """Protect any number of texts in constant memory: one `Variants` per batch, in order.

    With an `executor` (processes, threads, or a cluster's) batches run there, `in_flight` at a
    time. Every batch has randomness of its own: fresh, or the batch's stream of the seed, so that
    a seeded result does not depend on the number of workers.
    """
    if isinstance(texts, str | bytes):
        raise InputError("The 'texts' argument must give strings; put a single text into a list.")
    if batch < 1 or in_flight < 1:
        raise ParameterError("The 'batch' and 'in_flight' arguments must be at least 1.")
    source = _numbered(texts, choices.get("max_chars", MAX_CHARS))
    waiting: deque[Future[Variants]] = deque()
    number = 0
    while chunk := list(islice(source, batch)):
        job = (number, batch, chunk, mechanism, space, size, seed, choices)
        number += 1
        if executor is None:
            yield _protect_batch(*job)
            continue
        waiting.append(executor.submit(_protect_batch, *job))
        if len(waiting) >= in_flight:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _numbered(texts: Iterable[str], max_chars: int) -> Iterator[str]:
    """Check each text, so that a message tells its place in the whole stream."""
    for number, text in enumerate(texts, start=1):
        yield check_text(text, f"Text {number:,}", max_chars)


def _protect_batch(
    number: int,
    batch: int,
    texts: Sequence[str],
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    seed: int | None,
    choices: Choices,
) -> Variants:
    rng = None if seed is None else stream(seed, number)
    try:
        return protect(texts, mechanism, space, size, rng=rng, **choices)
    except UnprotectedError as error:  # tell the place in the whole stream
        raise UnprotectedError(number * batch + error.number) from None
