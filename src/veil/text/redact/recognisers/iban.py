"""Bank account numbers: IBANs of their country's length with remainder 1 modulo 97."""

import re
from collections.abc import Iterator

from veil.text.redact.recognisers.digits import mod97
from veil.text.redact.span import Place

_START = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=[Ii][Bb][Aa][Nn]))"
    r"[A-Za-z]{2}[\s./,-]?\d{2}(?:[\s./,-]{0,2}[A-Za-z0-9]){11,30}",
    re.ASCII,
)
_BY_LENGTH = (  # registry of ISO 13616
    "15 NO;16 BE;18 DK FI FK FO GL NL SD;19 MK SI;20 AT BA EE KZ LT LU MN XK;21 CH HR LI LV;"
    "22 BG BH CR DE GB GE IE ME RS VA;23 AE GI IL IQ OM SO TL;24 AD CZ ES MD PK RO SA SE SK TN VG;"
    "25 LY PT ST;26 IS TR;27 BI DJ FR GR IT MC MR SM;28 AL AZ BY CY DO GT HU LB NI PL SV;"
    "29 BR EG PS QA UA;30 JO KW MU YE;31 MT SC;32 LC;33 RU"
)
_LENGTHS = {country: int(row[:2]) for row in _BY_LENGTH.split(";") for country in row.split()[1:]}
_ANY = range(34, 14, -1)  # lengths for an unregistered country, if written without separators
_DIGITS, _LETTERS = 10, 4  # fewest digits; most letters in a group


def find(text: str) -> Iterator[Place]:
    """Yield account numbers, with or without spaces.

    >>> list(find("to DE89 3704 0044 0532 0130 00 by Monday"))
    [(3, 30)]
    """
    at = 0
    while match := _START.search(text, at):
        places = [place for place, character in enumerate(match[0]) if character.isalnum()]
        bare = "".join(match[0][place] for place in places).upper()
        registered = _LENGTHS.get(bare[:2])
        whole = [n for n in _ANY if len(places) >= n and places[n - 1] == n - 1]
        lengths = whole if registered is None else [registered]
        right = (n for n in lengths if len(bare) >= n and mod97(bare[4:n] + bare[:4]) == 1)
        length = next((n for n in right if not _is_prose(match[0][: places[n - 1] + 1])), None)
        at = match.start() + 4 if length is None else match.start() + places[length - 1] + 1
        if length is not None:
            yield match.start(), at


def _is_prose(number: str) -> bool:
    """Return whether these are words with a remainder of 1 by chance: `at 25 patients who...`."""
    groups = re.split(r"[\s./,-]+", number)
    words = any(group.isalpha() and len(group) > _LETTERS for group in groups)
    return words or sum(map(str.isdecimal, number)) < _DIGITS
