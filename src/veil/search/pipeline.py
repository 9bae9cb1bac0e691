"""Private search: protect, send only the variants, fuse, re-rank by the true query.

The true query stays in this file and in `rerank`. Engines receive released strings only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np

from veil.core.errors import EngineError, InputError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness
from veil.core.types import Engine, Floats, Ranking, Released, Variants
from veil.corpus.tokens import check_text
from veil.search.engines.engine import MAX_K, check_call, leaves
from veil.search.rerank import Reranker
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.policy import Policy, Unknown
from veil.text.protect import protect
from veil.text.select import Select
from veil.text.vectors.embeddings import Embeddings

CONSTANT = 60.0  # from the paper; larger values flatten the differences between top ranks


def reciprocal_rank(lists: Ranking, constant: float = CONSTANT) -> Ranking:
    r"""Return one list with the union of the items of all lists.

    .. math:: s(d) = \sum_{lists \ni d} \frac{1}{constant + rank(d)}

    Ties are in the order of the items' best ranks, then of the lists.

    References
    ----------
    Cormack, Clarke and Buettcher. Reciprocal Rank Fusion outperforms Condorcet and individual
    Rank Learning Methods. SIGIR 2009. doi:10.1145/1571941.1572114
    """
    n, k = lists.index.shape
    listed = lists.index >= 0
    gains = np.broadcast_to(1 / (constant + np.arange(1, k + 1)), (n, k))
    scores: Floats = np.bincount(
        lists.index[listed], gains[listed], minlength=len(lists.items)
    ).astype(np.float64)
    by_rank = lists.index.T[listed.T]  # first all items of rank 1, then those of rank 2 ...
    items, first = np.unique(by_rank, return_index=True)
    order = items[np.lexsort((first, -scores[items]))]
    return replace(lists, index=order[None], scores=scores[order][None], gaps=())


def truncate(ranking: Ranking, k: int) -> Ranking:
    """Return the lists cut at `k`, without the items that no list contains any more."""
    index = ranking.index[:, :k]
    used, positions = np.unique(index[index >= 0], return_inverse=True)
    packed = np.full_like(index, -1)
    packed[index >= 0] = positions
    return Ranking(
        tuple(ranking.items[i] for i in used),
        packed,
        ranking.scores[:, :k],
        tuple(ranking.texts[i] for i in used) if ranking.texts else (),
        tuple(ranking.titles[i] for i in used) if ranking.titles else (),
        ranking.gaps,
    )


MAX_QUERY = 10_000  # characters


class WordOptions(TypedDict, total=False):
    """Options of `protect` for the words of a query: which are protected, and how."""

    unknown: Unknown
    policies: dict[str, Policy]
    select: Select | None


class SearchOptions(WordOptions, total=False):
    """The options that a search passes on to `protect`."""

    rng: Randomness


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The results of a private search, and what the engine saw.

    Attributes
    ----------
    ranking
        One list, re-ranked by the true query.
    variants
        The release: everything that was sent.
    answers
        The engine's list for each variant, in the order of the variants. Its `gaps` contain the
        reason for each variant without an answer.
    """

    ranking: Ranking
    variants: Variants
    answers: Ranking

    @property
    def cost(self) -> Guarantee:
        """The cost of the release."""
        return self.variants.cost

    @property
    def gaps(self) -> tuple[str, ...]:
        """For each variant the reason why it has no answer, or ""."""
        return self.answers.gaps


def search(
    query: str,
    mechanism: TextMechanism,
    space: Embeddings | None,
    engine: Engine,
    size: int,
    k: int,
    *,
    reranker: Reranker | None,
    **choices: Unpack[SearchOptions],
) -> SearchResult:
    """Search privately for one query, or raise before any variant is sent."""
    variants = release(query, mechanism, space, size, **choices)
    ranking, answers = ask(query, variants[0], engine, k, reranker)
    return SearchResult(ranking, variants, answers)


def release(
    query: str,
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    **choices: Unpack[SearchOptions],
) -> Variants:
    """Return variants of one query that may be sent, or raise. They are not stored."""
    variants = protect(
        [check_query(query)], mechanism, space, size, max_chars=MAX_QUERY, in_clear=True, **choices
    )
    require_protection(variants)
    return variants


def ask(
    query: str, released: Sequence[Released], engine: Engine, k: int, reranker: Reranker | None
) -> tuple[Ranking, Ranking]:
    """Query an engine with released strings, and re-rank the answers by the true query.

    Returns the re-ranked list, and the engine's own lists.
    """
    answers = _ask(released, engine, k)
    return _combine(query, answers, k, reranker), answers


def _ask(released: Sequence[Released], engine: Engine, k: int) -> Ranking:
    """Query an engine. The call is also checked here, because the engine may be a plugin."""
    check_call(released, k, network=leaves(engine))
    try:
        return engine.search(released, k)
    except EngineError as error:
        if not leaves(engine):
            raise
        note = _describe_sent(error.sent, len(set(released)))
        raise EngineError(f"{error} {note}", sent=error.sent) from None


def _describe_sent(count: int | None, total: int) -> str:
    """Return what left this machine although no answer came: up to `total` if `count` is None."""
    if count == 0:
        return "Nothing was sent."
    if (count or total) == 1:
        return "One variant had been sent and counts as released."
    if count is None:
        return f"Up to {total} variants had been sent and count as released."
    return f"{count} variants had been sent and count as released."


def check_query(query: object) -> str:
    """Return the query, or raise an error that does not quote it."""
    if isinstance(query, str) and len(query) > MAX_QUERY:
        raise InputError(f"The query has more than {MAX_QUERY:,} characters. Shorten it.")
    text = check_text(query, "The query")
    if not text.strip():
        raise InputError("The query is empty. Enter a query.")
    return text


def require_protection(variants: Variants) -> None:
    """Raise if the query would be sent unprotected. Words passed by policy are unprotected."""
    if not variants.protected[0]:
        raise InputError(
            "No word of the query would be protected. Nothing was sent. Choose another mechanism"
            " or selection of words, or add words."
        )
    if not any(variant.strip() for variant in variants[0]):
        raise InputError(
            "The mechanism found no variant of the query. Nothing was sent. Choose another"
            " mechanism, or add words."
        )


def _combine(query: str, answers: Ranking, k: int, reranker: Reranker | None) -> Ranking:
    fused = reciprocal_rank(answers)
    ordered = fused if reranker is None else reranker.order(query, fused)
    return truncate(ordered, k)


def plain_depth(answers: Ranking) -> int:
    """Return the number of documents in the union of all lists.

    A fair comparison is with a plain search that re-ranks as many documents.
    """
    return min(MAX_K, max(1, int(np.unique(answers.index[answers.index >= 0]).size)))


def came_back(
    query: str,
    result: SearchResult,
    engine: Engine,
    depth: int = 10,
    *,
    reranker: Reranker | None = None,
    deep: bool = False,
) -> tuple[int, int] | None:
    """Return how many of the first `depth` plain results `result` also ranks so high, of how many.

    Both are re-ranked alike. With `deep`, plain search re-ranks as many documents as all variants
    returned together (`plain_depth`), else as many as one variant may return.

    None for an engine on a network, which would have to see the query. None, too, if plain search
    finds nothing, or a recording does not contain the query.
    """
    if leaves(engine):
        return None
    k = plain_depth(result.answers) if deep else result.answers.index.shape[1]
    k = max(depth, k)
    try:
        baseline, _ = ask(query, [Released(query)], engine, k, reranker)
    except EngineError:
        return None
    expected = baseline.list(0)[:depth]
    shown = set(result.ranking.list(0)[:depth])
    return (sum(item in shown for item in expected), len(expected)) if expected else None
