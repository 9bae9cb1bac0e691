"""Release queries to send instead of texts, with query mechanisms."""

from collections.abc import Sequence
from dataclasses import replace

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.core.types import Released, Variants
from veil.corpus.tokens import bare_parts, check_text, tokens, unaccented
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease, check_request

MAX_CHARS = 2_000  # default limit of a query


def scramble(
    texts: Sequence[str],
    mechanism: QueryMechanism,
    size: int | None = None,
    *,
    max_chars: int = MAX_CHARS,
) -> Variants:
    """Release at most `size` queries per text, best first.

    A text for which the mechanism finds fewer queries has a shorter row, possibly an empty one.
    The text itself is never sent instead.

    Parameters
    ----------
    texts
        A sequence of strings.
    mechanism
        The query mechanism.
    size
        Queries per text. Default: the mechanism's fixed size, or one.
    max_chars
        Longest text accepted.

    Notes
    -----
    The release depends only on the texts: there is no randomness, and no `rng`.
    """
    if not isinstance(mechanism, QueryMechanism):
        raise ParameterError(
            "The 'mechanism' argument must be a query mechanism such as aea(level=3). Got"
            f" {type(mechanism).__name__} instead."
        )
    check_request(texts, 1 if size is None else size, max_chars)
    size = size_of(mechanism, size)
    checked = [
        check_text(text, f"Text {number}", max_chars) for number, text in enumerate(texts, start=1)
    ]
    scrambler = mechanism.bind()
    if mechanism.whole:
        releases = [_check_whole(scrambler.scramble(text, size), size) for text in checked]
        cost = whole_cost(mechanism.guarantee, len(releases))
    else:
        releases = [_sendable(scrambler.scramble(text, size), text, size) for text in checked]
        cost = scrambled_cost(mechanism.guarantee, releases, size)
    return Variants(
        rows=tuple(tuple(map(Released, release.queries)) for release in releases),
        mechanism=str(mechanism),
        cost=cost,
        kept=tuple(release.kept for release in releases),
        protected=tuple(release.protected for release in releases),
    )


def size_of(mechanism: QueryMechanism, size: int | None) -> int:
    """Return the number of queries per text. Any number but a fixed one raises an error."""
    fixed = mechanism.size
    if fixed is None:
        return 1 if size is None else size
    if size not in (None, fixed):
        raise ParameterError(
            f"{mechanism.name} sends all {fixed} texts of a group or none, so 'size' must be"
            f" {fixed}. Got {size} instead. Remove 'size'."
        )
    return fixed


def _check_whole(release: QueryRelease, size: int) -> QueryRelease:
    """Refuse an incomplete release of a mechanism that sends all texts of a group or none."""
    if len(release.queries) != size or not all(query.strip() for query in release.queries):
        raise InputError(
            f"The mechanism must send {size} texts or none, but some of them are missing. Nothing"
            " was sent. Build its table again."
        )
    return QueryRelease(release.queries, (), release.protected)


def whole_cost(guarantee: Guarantee, texts: int) -> Guarantee:
    """Return the cost of releasing this many texts, each as one whole group."""
    return guarantee.compose(texts, f"release ({count_of(texts, 'text')})")


def _sendable(release: QueryRelease, text: str, size: int) -> QueryRelease:
    """Drop queries that no mechanism may send: blank ones, and the text itself.

    The words that passed are determined from the remaining queries, not taken from the mechanism.
    """
    own = [word.casefold() for word in _words(text)]
    queries = [
        query
        for query in dict.fromkeys(release.queries)
        if [word.casefold() for word in _words(query)] not in ([], own)
    ][:size]
    return QueryRelease(tuple(queries), passed(text, queries), release.protected)


def passed(text: str, queries: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a text that are in any of the queries, or those of their parts."""
    forms = {form for query in queries for word in _words(query) for form in _forms(word)}
    words: list[str] = []
    for word in _words(text):
        whole, *parts = _forms(word)
        if whole in forms or all(part in forms for part in parts):
            words.append(word)
        else:
            words += [part for part in parts if part in forms]
    return tuple(words)


def _forms(word: str) -> list[str]:
    """Return the forms by which a word is recognised: the whole word and its parts."""
    return [unaccented(form) for form in (word.casefold(), *bare_parts(word))]


def scrambled_cost(guarantee: Guarantee, releases: Sequence[QueryRelease], size: int) -> Guarantee:
    """Return the cost of the queries released for some texts, of `size` requested per text."""
    words = sum(release.protected for release in releases)
    counts = [len(release.queries) for release in releases]
    queries = "query" if sum(counts) == 1 else "queries"
    cost = guarantee.compose(
        sum(counts), f"release ({count_of(words, 'word')}, {sum(counts):,} {queries})"
    )
    cost = cost.with_caveat(
        "The release has no randomness: the same text gives the same queries every time."
    )
    if none := counts.count(0):
        cost = cost.with_caveat(
            f"{count_of(none, 'text')} {_have(none)} no query that may be sent."
        )
    if fewer := sum(0 < count < size for count in counts):
        cost = cost.with_caveat(
            f"{count_of(fewer, 'text')} {_have(fewer)} fewer than {size} queries."
        )
    if unchanged := sum(len(release.kept) for release in releases):
        cost = replace(cost, passed=unchanged).with_caveat(
            f"{count_of(unchanged, 'word')} passed unchanged by policy."
        )
    return cost


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _words(text: str) -> list[str]:
    return [text[token.start : token.end] for token in tokens(text)]
