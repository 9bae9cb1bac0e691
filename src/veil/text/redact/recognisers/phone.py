"""Telephone numbers: 7 to 15 digits as people write them."""

import re
from collections.abc import Iterator

from veil.text.redact.recognisers.checksums import digits_of
from veil.text.redact.span import Place

_NUMBER = re.compile(
    r"(?<![\w.,/-])(?<!\d[ (])(?P<plus>\+|00)?(?P<rest>\(?\d(?:[ ./()-]{0,3}\d){6,14})"
    r"(?!\w|[ .,-]?\d)"
)
_LONG, _LOCAL = range(7, 16), range(9, 12)


def find(text: str) -> Iterator[Place]:
    """Find numbers with a country, a leading 0, or groups of digits; a plain number is none.

    >>> list(find("call +39 049 827 1234 or (555) 010-9999, not 1234567 or 1,234,567"))
    [(5, 21), (25, 39)]
    """
    for match in _NUMBER.finditer(text):
        digits = len(digits_of(match[0]))
        if digits in _LONG and _likely(match, digits):
            lone = match[0].startswith("(") and ")" not in match[0]  # it opens something else
            yield match.start() + lone, match.end("rest")


def _likely(match: re.Match[str], digits: int) -> bool:
    """Tell a telephone number from any other one by how it is written."""
    if match["plus"]:
        return True
    groups = re.split(r"\D+", match["rest"].strip("()"))
    if len(groups) == 1:
        return groups[0].startswith("0") and digits in _LOCAL
    longest = max(map(len, groups))
    return len(groups) <= 6 and 3 <= longest <= 8 and not _amounts(match["rest"], groups)


def _amounts(rest: str, groups: list[str]) -> bool:
    """Tell whether these are years, decimals or thousands: 1995-1999, 12 345 678, 3.14159265."""
    years = len(groups[0]) == 4 and groups[0][:2] in ("18", "19", "20")
    years = years and all(len(group) in (2, 4) for group in groups[1:])
    thousands = not re.search(r"[()/-]", rest) and all(len(group) == 3 for group in groups[1:])
    thousands = thousands and len(groups[0]) <= 3 and not rest.startswith("0")
    return years or thousands or (len(groups) == 2 and "." in rest)
