"""Check digits, and numbers written in groups of digits.

A card number is often followed by its expiry date, a telephone number by a date. The search for
valid runs of groups finds a number despite its neighbours.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from veil.text.redact.span import Place

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def digits_of(text: str) -> list[int]:
    """Return the digits of a text, in any script."""
    return [int(character) for character in text if character.isdecimal()]


def luhn(digits: list[int]) -> bool:
    """Return whether the last digit is a valid Luhn check digit.

    >>> luhn(digits_of("4111 1111 1111 1111")), luhn(digits_of("4111 1111 1111 1112"))
    (True, False)
    """
    backwards = digits[::-1]
    return (sum(backwards[::2]) + sum(_DOUBLED[digit] for digit in backwards[1::2])) % 10 == 0


def mod97(text: str) -> int:
    """Return the remainder of a text modulo 97, with letters counted from 10 (ISO 7064).

    >>> mod97("3214282912345698765432161182")
    1
    """
    return int("".join(str(int(character, 36)) for character in text)) % 97


def mod11_10(digits: list[int]) -> bool:
    """Return whether the last digit is a valid check digit by ISO 7064, mod 11,10.

    >>> mod11_10(digits_of("86095742719")), mod11_10(digits_of("86095742718"))
    (True, False)
    """
    product = 10
    for digit in digits[:-1]:
        total = (digit + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == digits[-1]


def weighted(digits: list[int], weights: tuple[int, ...]) -> int:
    """Return the sum of digits times weights."""
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


Right = Callable[[str, Place], bool]


def pieces_of(
    text: str, atom: re.Pattern[str], joint: re.Pattern[str], seam: re.Pattern[str]
) -> Iterator[list[Place]]:
    """Yield runs of pieces separated by a `joint` that contains a `seam`.

    Atoms separated by a joint without a seam form one piece.
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
    """Yield the longest valid stretch that starts at each piece, if any.

    Stretches may overlap, so that one that is valid by chance does not hide half of another.
    `sizes` are the permitted numbers of digits.
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
    """Yield the last end that makes a valid stretch, if any."""
    yield from islice((end for end in reversed(ends) if right(text, (start, end))), 1)
