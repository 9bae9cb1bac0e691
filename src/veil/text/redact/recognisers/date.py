"""Dates of a day: in figures, or with the name of a month in English."""

import re
from collections.abc import Iterator

from veil.text.redact.span import Place

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?:[12]\d|3[01]|0?[1-9])"
_NUMBER = r"(?:1[0-2]|0?[1-9])"
_YEAR = r"(?:1[89]|20)\d\d"
_DATE = re.compile(
    rf"(?<![^\W_])(?<!\d\.)(?:{_YEAR}(?P<a>[-/.])(?:{_NUMBER}(?P=a){_DAY})"
    rf"|{_DAY}(?P<b>[-/.]){_NUMBER}(?P=b)(?:{_YEAR}|\d\d)"
    rf"|{_NUMBER}(?P<c>[-/.]){_DAY}(?P=c)(?:{_YEAR}|\d\d)"
    rf"|{_DAY}(?:st|nd|rd|th|\.)?(?: of)?[ -]{_MONTH},?[ -]{_YEAR}"
    rf"|{_MONTH} {_DAY}(?:st|nd|rd|th)?,? {_YEAR})(?!(?!T\d)[^\W_]|[-/.]\d)",
    re.IGNORECASE | re.ASCII,
)


def find(text: str) -> Iterator[Place]:
    """Find days; a year or a month alone is none.

    >>> list(find("born 3 May 1984, seen 2024-02-29, in 1999"))
    [(5, 15), (22, 32)]
    """
    return (match.span() for match in _DATE.finditer(text))
