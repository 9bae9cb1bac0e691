"""Payment card numbers: 13 to 19 digits with a valid Luhn check digit.

Letters may touch the number: people write Visa4111..., and programs x4111....
"""

import re
from collections.abc import Iterator

from veil.text.redact.recognisers.digits import digits_of, longest, luhn, pieces_of
from veil.text.redact.span import Place

_DIGITS, _JOINT = re.compile(r"\d+"), re.compile(r"[\s./-]{1,3}|[,:]")
_FIRST = (2, 3, 4, 5, 6)  # first digits of the card networks
_SIZES = range(13, 20)
_SHORTEST = 4  # digits between two points: 3.14159 is not a card


def find(text: str) -> Iterator[Place]:
    """Yield card numbers, also next to other numbers.

    >>> list(find("paid by 4111 1111 1111 1111 12/27 in May"))
    [(8, 27)]
    """
    for run in pieces_of(text, _DIGITS, _JOINT, _JOINT):
        yield from longest(text, run, _SIZES, _right)


def _right(text: str, place: Place) -> bool:
    number = text[place[0] : place[1]]
    digits = digits_of(number)
    if digits[0] not in _FIRST or not luhn(digits):
        return False
    pointed = "." in number and min(map(len, re.findall(r"\d+", number))) < _SHORTEST
    sizes = list(map(len, re.findall(r"\d+", number)))
    listed = re.search(r"[/,:]", number) and set(sizes) != {4}
    row = len(set(sizes)) > 1 and min(sizes[:-1]) < _SHORTEST - 1  # of a table
    return not (pointed or listed or row)
