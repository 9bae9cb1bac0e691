"""Release queries to send instead of texts."""

from collections.abc import Sequence
from dataclasses import replace

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.core.types import Released, Variants
from veil.corpus.tokens import bare_parts, check_text, tokens, unaccented
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease, check_request

MAX_CHARS = 2_000  # in one query, unless the caller says otherwise


def scramble(
    texts: Sequence[str],
    mechanism: QueryMechanism,
    size: int | None = None,
    *,
    max_chars: int = MAX_CHARS,
) -> Variants:
    """Release at most `size` queries for each text, the best first.

    A text for which the mechanism finds fewer has a shorter row, and one for which it finds none
    an empty row: the text itself is never sent in its place.

    Parameters
    ----------
    texts
        A sequence of strings.
    mechanism
        What makes the queries.
    size
        Queries per text; None for as many as the mechanism has by itself, else one.
    max_chars
        Longest text accepted.

    Notes
    -----
    The release is a function of the texts alone: there is no randomness, and no `rng`.
    """
    if not isinstance(mechanism, QueryMechanism):
        raise ParameterError(
            "The 'mechanism' argument must be a query mechanism, as aea(level=3) is. Got"
            f" {type(mechanism).__name__} instead."
        )
    check_request(texts, 1 if size is None else size, max_chars)
    size = size_of(mechanism, size)
    checked = [
        check_text(text, f"Text {number}", max_chars) for number, text in enumerate(texts, start=1)
    ]
    scrambler = mechanism.bind()
    if mechanism.whole:
        found = [_whole(scrambler.scramble(text, size), size) for text in checked]
        cost = whole_cost(mechanism.guarantee, len(found))
    else:
        found = [_sendable(scrambler.scramble(text, size), text, size) for text in checked]
        cost = scrambled_cost(mechanism.guarantee, found, size)
    return Variants(
        rows=tuple(tuple(map(Released, each.queries)) for each in found),
        mechanism=str(mechanism),
        cost=cost,
        kept=tuple(each.kept for each in found),
        protected=tuple(each.protected for each in found),
    )


def size_of(mechanism: QueryMechanism, size: int | None) -> int:
    """Return how many queries there are for one text; another number than a fixed one raises."""
    fixed = mechanism.size
    if fixed is None:
        return 1 if size is None else size
    if size not in (None, fixed):
        raise ParameterError(
            f"{mechanism.name} sends all {fixed} texts of a group or none, so that the number of"
            f" variants is {fixed}; leave it out. Got {size} instead."
        )
    return fixed


def _whole(found: QueryRelease, size: int) -> QueryRelease:
    """Check that a release that is whole or nothing is whole."""
    if len(found.queries) != size or not all(query.strip() for query in found.queries):
        raise InputError(
            f"The mechanism must send {size} texts or none, and does not have them all; nothing"
            " was sent. Build its table again."
        )
    return QueryRelease(found.queries, (), found.protected)


def whole_cost(guarantee: Guarantee, texts: int) -> Guarantee:
    """Say what the releases of so many texts cost, each of which is one whole."""
    return guarantee.compose(texts, f"release ({count_of(texts, 'text')})")


def _sendable(found: QueryRelease, text: str, size: int) -> QueryRelease:
    """Strike out what must not leave whatever the mechanism: nothing, and the text itself.

    Which words passed is read off the queries that are left, and not taken on trust.
    """
    own = [word.casefold() for word in _words(text)]
    queries = [
        query
        for query in dict.fromkeys(found.queries)
        if [word.casefold() for word in _words(query)] not in ([], own)
    ][:size]
    return QueryRelease(tuple(queries), passed(text, queries), found.protected)


def passed(text: str, queries: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a text that are in any of the queries, or the parts that are."""
    sent = {form for query in queries for word in _words(query) for form in _forms(word)}
    kept: list[str] = []
    for word in _words(text):
        whole, *parts = _forms(word)
        if whole in sent or all(part in sent for part in parts):
            kept.append(word)
        else:
            kept += [part for part in parts if part in sent]
    return tuple(kept)


def _forms(word: str) -> list[str]:
    """Return a word as it may be recognised: whole, and in its parts."""
    return [unaccented(form) for form in (word.casefold(), *bare_parts(word))]


def scrambled_cost(guarantee: Guarantee, found: Sequence[QueryRelease], size: int) -> Guarantee:
    """Say what queries cost that were made for some texts, `size` of each asked for."""
    words = sum(each.protected for each in found)
    counts = [len(each.queries) for each in found]
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
    if kept := sum(len(each.kept) for each in found):
        cost = replace(cost, passed=kept).with_caveat(
            f"{count_of(kept, 'word')} passed unchanged by policy."
        )
    return cost


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _words(text: str) -> list[str]:
    return [text[token.start : token.end] for token in tokens(text)]
