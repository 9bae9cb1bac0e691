"""Numbers in pieces: which of the pieces that stand side by side are one number.

A card is followed by the month it ends in, a telephone number by a date: what stands beside a
number must not hide it.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from veil.text.redact.span import Place

Right = Callable[[str, Place], bool]


def pieces_of(
    text: str, atom: re.Pattern[str], joint: re.Pattern[str], seam: re.Pattern[str]
) -> Iterator[list[Place]]:
    """Give runs of pieces: between two of them stands a `joint` in which there is a `seam`.

    Atoms with a joint between them that has none are one piece.
    """
    run: list[Place] = []
    for match in atom.finditer(text):
        start, end = match.span()
        between = text[run[-1][1] : start] if run else ""
        if run and joint.fullmatch(between) and match[0][0] != "+":
            if seam.search(between):
                run.append((start, end))
            else:
                run[-1] = (run[-1][0], end)
            continue
        if run:
            yield run
        run = [(start, end)]
    if run:
        yield run


def longest(text: str, run: list[Place], sizes: range, right: Right) -> Iterator[Place]:
    """Give for each piece the longest stretch from it on that is right, if there is one.

    Stretches may overlap: one that is right by chance must not hide half of another.
    `sizes` are those in digits that a stretch may have.
    """
    counts = [sum(map(str.isdecimal, text[start:end])) for start, end in run]
    for at, (start, _) in enumerate(run):
        ends, total = list[int](), 0
        for (_, end), count in zip(
            run[at : at + sizes[-1]], counts[at : at + sizes[-1]], strict=True
        ):
            total += count
            if total > sizes[-1]:
                break
            if total >= sizes[0]:
                ends.append(end)
        yield from ((start, end) for end in _first(text, start, ends, right))


def _first(text: str, start: int, ends: list[int], right: Right) -> Iterator[int]:
    """Give the last of the ends that is right, or none."""
    yield from islice((end for end in reversed(ends) if right(text, (start, end))), 1)
