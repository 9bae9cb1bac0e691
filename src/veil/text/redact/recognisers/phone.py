"""Telephone numbers of 7 to 15 digits, in common spellings."""

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
_POINTED = re.compile(r"3[2-9]\d\.\d{7}|0\d{2,4}\.\d{5,8}")  # a single dot
_DECIMALS = re.compile(r"\d\.\d{2,4}(?: ?[ /-] ?\d\.\d{2,4})+")
_BEFORE = re.compile(r"(?:[^\W_]|(?<!\d)\d{1,3},|\d\.)\Z")  # a word, thousands, decimals
_NAME = re.compile(r"\b(?:tel|phone|cell|mobile|mob|fax|call|ph|t|p|m)\Z", re.IGNORECASE)
_AFTER = re.compile(r"(?!x\d)[^\W_]|,\d{3}(?!\d)")  # x12 is an extension


def find(text: str) -> Iterator[Place]:
    """Yield numbers with a country code, a leading 0, or groups of digits.

    Ungrouped digits must form a North American number or an Italian mobile number.

    >>> list(find("call +39 049 827 1234 or (555) 010-9999, not 1234567 or 1,234,567"))
    [(5, 21), (25, 39)]
    """
    for run in pieces_of(text, _ATOM, _JOINT, _SEAM):
        whole = run[0][0], run[-1][1]
        yield from _joined(longest(text, run, _LONG, partial(_right, whole)))


def _joined(places: Iterator[Place]) -> Iterator[Place]:
    """Merge overlapping spans, so that no part of a number remains."""
    span: Place | None = None
    for start, end in places:
        if span is not None and start < span[1]:
            span = span[0], max(span[1], end)
            continue
        if span is not None:
            yield span
        span = start, end
    if span is not None:
        yield span


def _right(whole: Place, text: str, place: Place) -> bool:
    """Return whether this is a telephone number; part of a longer run must look more like one."""
    start, end = place
    number = text[start:end]
    if place != whole and not (_CLEAR.search(number) or _PLAIN.fullmatch(number)):
        return False
    opened = text[start] in "+("  # the number cannot start earlier
    label = _NAME.search(text[max(0, start - 8) : start])
    if not opened and not label and _BEFORE.search(text[max(0, start - 5) : start]):
        return False
    if _AFTER.match(text, end):
        return False
    return _likely(number)


def _likely(number: str) -> bool:
    """Return whether a number is grouped like a telephone number."""
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
    """Return whether these are years, decimals, thousands or pages: 1995-1999, 12 345 678."""
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
