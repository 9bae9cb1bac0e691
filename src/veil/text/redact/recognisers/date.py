"""Calendar dates, in figures or with an English month name."""

import re
from collections.abc import Iterator

from veil.text.redact.span import Place

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?:[12]\d|3[01]|0?[1-9])"
_NUMBER = r"(?:1[0-2]|0?[1-9])"
_DD, _MM = r"(?:0[1-9]|[12]\d|3[01])", r"(?:0[1-9]|1[0-2])"
_YEAR = r"(?:1[89]|20)\d\d"
_SHORT = r"'\d\d"  # a year, as in '84
_TIME = r"(?:(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)?"
_GAP = r"(?:\.?,? ?|[/-]| - )"
_DATE = re.compile(
    rf"(?<![^\W_])(?<!\d[.,])(?:{_YEAR}(?P<a> ?[-/.] ?|[ :])(?:{_NUMBER}(?P=a){_DAY})"
    rf"|{_DAY}(?P<b> ?[-/] ?|\. ?){_NUMBER}(?P=b)(?:{_YEAR}|'?\d\d)"
    rf"|{_NUMBER}(?P<c> ?[-/] ?|\. ?){_DAY}(?P=c)(?:{_YEAR}|'?\d\d)"
    rf"|(?:{_DAY} {_NUMBER}|{_NUMBER} {_DAY}) {_YEAR}"
    rf"|(?:{_YEAR}{_MM}{_DD}{_TIME}|{_DD}{_MM}{_YEAR}|{_MM}{_DD}{_YEAR})"
    rf"|{_DAY}(?:st|nd|rd|th|\.)?(?: of)?{_GAP}{_MONTH}{_GAP}(?:{_YEAR}|{_SHORT})"
    rf"|{_DAY}-{_MONTH}-\d\d|{_YEAR}\u5e74{_NUMBER}\u6708{_DAY}\u65e5"
    rf"|{_MONTH}{_GAP}(?:the )?{_DAY}(?:st|nd|rd|th)?(?:, ?| |[./-])(?:{_YEAR}|{_SHORT})"
    rf"|{_YEAR}{_GAP}{_MONTH}{_GAP}{_DAY}(?:st|nd|rd|th)?(?!,? {_YEAR}))"
    r"(?!(?!T\d)[^\W_]|[-/.]\d|,\d{3}(?!\d))",
    re.IGNORECASE | re.ASCII,
)


def find(text: str) -> Iterator[Place]:
    """Return full dates; a year or a month is not enough.

    >>> list(find("born 3 May 1984, seen 2024-02-29, in 1999"))
    [(5, 15), (22, 32)]
    """
    return (match.span() for match in _DATE.finditer(text))
