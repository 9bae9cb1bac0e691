"""Telephone numbers: 7 to 15 digits as people write them."""

import re
from collections.abc import Iterator
from functools import partial

from veil.text.redact.recognisers.digits import digits_of, longest, pieces_of
from veil.text.redact.span import Place

_ATOM = re.compile(r"\(\+?\d{1,5}\)|(?:\+ ?)?\d+")
_JOINT, _SEAM = re.compile(r"[ ./-]{0,3}"), re.compile(r"[ /]")
_CLEAR = re.compile(r"^\(?[+0]|[()/-]|\d{3}\.\d{3}\.\d{4}\Z|^1(?: \d{3}){2} \d{4}\Z")
_COUNTRY = ("+", "(+", "00")
_LONG, _LOCAL = range(7, 16), range(9, 12)
_PLAIN = re.compile(r"1?[2-9]\d\d[2-9]\d{6}|(?:39)?3[2-9]\d{8}")  # North American, Italian mobile
_POINTED = re.compile(r"3[2-9]\d\.\d{7}|0\d{2,4}\.\d{5,8}")  # one point alone
_DECIMALS = re.compile(r"\d\.\d{2,4}(?: ?[ /-] ?\d\.\d{2,4})+")
_BEFORE = re.compile(r"(?:[^\W_]|(?<!\d)\d{1,3},|\d\.)\Z")  # a word, thousands, decimals
_NAME = re.compile(r"\b(?:tel|phone|cell|mobile|mob|fax|call|ph|t|p|m)\Z", re.IGNORECASE)
_AFTER = re.compile(r"(?!x\d)[^\W_]|,\d{3}(?!\d)")  # but an extension


def find(text: str) -> Iterator[Place]:
    """Find numbers with a country, a leading 0, or groups of digits.

    A plain number is one with the ten digits of a North American number or an Italian mobile.

    >>> list(find("call +39 049 827 1234 or (555) 010-9999, not 1234567 or 1,234,567"))
    [(5, 21), (25, 39)]
    """
    for run in pieces_of(text, _ATOM, _JOINT, _SEAM):
        whole = run[0][0], run[-1][1]
        yield from _joined(longest(text, run, _LONG, partial(_right, whole)))


def _joined(places: Iterator[Place]) -> Iterator[Place]:
    """Join places that overlap: a number that takes in a part of the next hides all of it."""
    found: Place | None = None
    for start, end in places:
        if found is not None and start < found[1]:
            found = found[0], max(found[1], end)
            continue
        if found is not None:
            yield found
        found = start, end
    if found is not None:
        yield found


def _right(whole: Place, text: str, place: Place) -> bool:
    """Tell whether this is a number; as a part of a longer row it must look much like one."""
    start, end = place
    number = text[start:end]
    if place != whole and not (_CLEAR.search(number) or _PLAIN.fullmatch(number)):
        return False
    opened = text[start] in "+("  # nothing that stands before it is part of the number
    named = _NAME.search(text[max(0, start - 8) : start])
    if not opened and not named and _BEFORE.search(text[max(0, start - 5) : start]):
        return False
    if _AFTER.match(text, end):
        return False
    return _likely(number)


def _likely(number: str) -> bool:
    """Tell a telephone number from any other one by how it is written."""
    digits = len(digits_of(number))
    if number.startswith(_COUNTRY):
        return True
    groups = re.findall(r"\d+", number)
    if len(groups) == 1:
        return (number.startswith("0") and digits in _LOCAL) or bool(_PLAIN.fullmatch(number))
    longest_one = max(map(len, groups))
    pairs = number.startswith("0") and digits in _LOCAL and longest_one == 2  # 06 12 34 56 78
    grouped = len(groups) <= 6 and 3 <= longest_one <= 8
    return pairs or (grouped and not _amounts(number, groups))


def _amounts(number: str, groups: list[str]) -> bool:
    """Tell whether these are years, decimals, thousands or pages: 1995-1999, 12 345 678."""
    years = len(groups[0]) == 4 and groups[0][:2] in ("18", "19", "20")
    years = years and all(len(group) in (2, 4) for group in groups[1:])
    thousands = not re.search(r"[()/-]", number) and all(len(group) == 3 for group in groups[1:])
    thousands = thousands and len(groups[0]) <= 3 and not number.startswith("0")
    first, last = int(groups[0]), int(groups[-1])
    pages = len(groups) == 2 and len(groups[0]) == len(groups[1]) > 3  # 1560-1567
    pages = pages and "-" in number and 0 < last - first < first // 10
    if pages or _DECIMALS.fullmatch(number):
        return True
    decimal = len(groups) == 2 and "." in number and not _POINTED.fullmatch(number)
    return years or thousands or decimal
