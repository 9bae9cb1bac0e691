"""The candidate queries in a text: a few words that stand near each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_ROOM = 8  # combinations of the terms that are looked at, per candidate that is run


@dataclass(frozen=True, slots=True)
class Candidate:
    """A query: its terms, sorted, and its words in the order of the text."""

    terms: tuple[int, ...]
    words: tuple[str, ...]


def combinations(
    words: Sequence[tuple[str, int]], window: int, longest: int
) -> Iterator[Candidate]:
    """Yield every combination of 1 to `longest` different terms within a window.

    `words` are the words of a text with the number of their term, -1 for one that must not be
    taken but has its place. The combinations come by the place of their words.
    """

    def grow(chosen: tuple[int, ...]) -> Iterator[Candidate]:
        terms = tuple(words[place][1] for place in chosen)
        yield Candidate(tuple(sorted(terms)), tuple(words[place][0] for place in chosen))
        if len(chosen) < longest:
            for place in range(chosen[-1] + 1, min(chosen[0] + window, len(words))):
                if words[place][1] >= 0 and words[place][1] not in terms:
                    yield from grow((*chosen, place))

    for first, (_, term) in enumerate(words):
        if term >= 0:
            yield from grow((first,))


def candidates(
    texts: Sequence[Sequence[tuple[str, int]]],
    weights: Mapping[int, float],
    window: int,
    longest: int,
    limit: int,
) -> list[Candidate]:
    """Return the `limit` candidates of the texts whose terms weigh most, each once.

    Of the terms, only the heaviest are combined: as many as give eight times `limit` combinations.
    """
    ranked = sorted(weights, key=lambda term: (-weights[term], term))
    heavy = set(ranked[: _enough(len(ranked), longest, limit * _ROOM)])
    found: dict[tuple[int, ...], Candidate] = {}
    for text in texts:
        marked = [(word, term if term in heavy else -1) for word, term in text]
        for each in combinations(marked, window, longest):
            found.setdefault(each.terms, each)
    order = sorted(found, key=lambda terms: (-sum(weights[term] for term in terms), terms))
    return [found[terms] for terms in order[:limit]]


def _enough(terms: int, longest: int, wanted: int) -> int:
    """Return how many terms give at least so many combinations, or all of them."""
    many, count = 0, 0
    while many < terms and count < wanted:
        many += 1
        count, row = 0, 1
        for size in range(1, longest + 1):
            row = row * (many - size + 1) // size
            count += row
    return many
