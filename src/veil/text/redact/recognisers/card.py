"""Numbers of payment cards: 13 to 19 digits, the last of which is right by Luhn."""

import re
from collections.abc import Iterator

from veil.text.redact.recognisers.checksums import digits_of, luhn
from veil.text.redact.span import Place

_NUMBER = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_FIRST = (2, 3, 4, 5, 6)  # of the networks that issue them


def find(text: str) -> Iterator[Place]:
    """Find numbers of cards.

    >>> list(find("paid by 4111 1111 1111 1111 in May"))
    [(8, 27)]
    """
    for match in _NUMBER.finditer(text):
        digits = digits_of(match[0])
        if digits[0] in _FIRST and luhn(digits):
            yield match.span()
