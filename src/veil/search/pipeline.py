"""Private search: protect, ask with the variants alone, fuse, re-rank by the true query.

The true query stays in this file and in `rerank`: engines are handed released strings only.
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

CONSTANT = 60.0  # of the paper: how little the very first ranks count for more


def reciprocal_rank(lists: Ranking, constant: float = CONSTANT) -> Ranking:
    r"""Fuse all lists into one: the union of their items, each once.

    .. math:: s(d) = \sum_{lists \ni d} \frac{1}{constant + rank(d)}

    Equal scores stand in the order in which the items came up, best rank first.

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


def narrowed(ranking: Ranking, k: int) -> Ranking:
    """Cut the lists at `k`, and drop the items that no list holds any more."""
    index = ranking.index[:, :k]
    used, places = np.unique(index[index >= 0], return_inverse=True)
    packed = np.full_like(index, -1)
    packed[index >= 0] = places
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
    """Which words of a query are protected, and how: choices of `protect`."""

    unknown: Unknown
    policies: dict[str, Policy]
    select: Select | None


class SearchOptions(WordOptions, total=False):
    """The choices of `protect` that a search hands on."""

    rng: Randomness


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What came back, and what the engine saw for it.

    Attributes
    ----------
    ranking
        One list, re-ranked by the true query.
    variants
        The release: all that was sent.
    answers
        The engine's own list for each variant, in the order of the variants; its `gaps` say which
        ones were not answered, and why.
    """

    ranking: Ranking
    variants: Variants
    answers: Ranking

    @property
    def cost(self) -> Guarantee:
        """What the release costs."""
        return self.variants.cost

    @property
    def gaps(self) -> tuple[str, ...]:
        """Per variant "", or one sentence that says why it was not answered."""
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
    """Search privately for one query, or raise before anything is sent."""
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
    """Draw variants of one query that may be sent, or raise; nothing is kept of them."""
    variants = protect(
        [check_query(query)], mechanism, space, size, max_chars=MAX_QUERY, in_clear=True, **choices
    )
    require_protection(variants)
    return variants


def ask(
    query: str, released: Sequence[Released], engine: Engine, k: int, reranker: Reranker | None
) -> tuple[Ranking, Ranking]:
    """Ask an engine with released strings, and re-rank by the true query what it answers.

    Returns the re-ranked list, and the engine's own lists.
    """
    answers = _ask(released, engine, k)
    return _combine(query, answers, k, reranker), answers


def _ask(released: Sequence[Released], engine: Engine, k: int) -> Ranking:
    """Hand released strings to an engine, checked here, too: an engine may be a plugin."""
    check_call(released, k, network=leaves(engine))
    try:
        return engine.search(released, k)
    except EngineError as error:
        if not leaves(engine):
            raise
        told = _told(error.sent, len(set(released)))
        raise EngineError(f"{error} {told}", sent=error.sent) from None


def _told(sent: int | None, asked: int) -> str:
    """Say what left this machine though no answer came: at most all, if that is not known."""
    if sent == 0:
        return "Nothing was sent."
    count = asked if sent is None else sent
    if count == 1:
        return "One variant had been sent, and counts as released."
    most = "Up to " if sent is None else ""
    return f"{most}{count} variants had been sent, and count as released."


def check_query(query: object) -> str:
    """Return the query, or say what is wrong with it without quoting it."""
    if isinstance(query, str) and len(query) > MAX_QUERY:
        raise InputError(f"The query has more than {MAX_QUERY:,} characters; shorten it.")
    text = check_text(query, "The query")
    if not text.strip():
        raise InputError("The query is empty; write what to search for.")
    return text


def require_protection(variants: Variants) -> None:
    """Refuse to send a query in clear: what passes by policy is not protected."""
    if not variants.protected[0]:
        raise InputError(
            "Nothing in the query would be protected, so that it would be sent as it is; nothing"
            " was sent. Choose another mechanism or selection of words, or add words."
        )
    if not any(variant.strip() for variant in variants[0]):
        raise InputError(
            "The mechanism found nothing that could be sent instead of the query; nothing was"
            " sent. Choose another mechanism, or add words."
        )


def _combine(query: str, answers: Ranking, k: int, reranker: Reranker | None) -> Ranking:
    fused = reciprocal_rank(answers)
    ordered = fused if reranker is None else reranker.order(query, fused)
    return narrowed(ordered, k)


def plain_depth(answers: Ranking) -> int:
    """Return the number of documents in the union of all lists.

    Plain search that puts as many in order is what a private search is fairly compared with.
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
    """Count how many of the plain search's first `depth` results are among ours, and of how many.

    Both are re-ranked alike. With `deep` plain search puts as many documents in order as all
    variants brought together (`plain_depth`), else as many as one variant may bring.

    None for an engine on a network: to find out, the query itself would have to be sent. None,
    too, where the query by itself finds nothing, or a recording does not hold it.
    """
    if leaves(engine):
        return None
    k = plain_depth(result.answers) if deep else result.answers.index.shape[1]
    k = max(depth, k)
    try:
        plain, _ = ask(query, [Released(query)], engine, k, reranker)
    except EngineError:
        return None
    wanted = plain.list(0)[:depth]
    shown = set(result.ranking.list(0)[:depth])
    return (sum(item in shown for item in wanted), len(wanted)) if wanted else None
