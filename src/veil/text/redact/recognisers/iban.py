"""Numbers of bank accounts: an IBAN whose remainder by 97 is 1."""

import re
from collections.abc import Iterator

from veil.text.redact.recognisers.checksums import mod97
from veil.text.redact.span import Place

_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}")
_LENGTHS = range(34, 14, -1)


def find(text: str) -> Iterator[Place]:
    """Find account numbers, with or without spaces; the longest that is right counts.

    >>> list(find("to DE89 3704 0044 0532 0130 00 by Monday"))
    [(3, 30)]
    """
    for match in _START.finditer(text):
        places = [at for at, character in enumerate(match[0]) if character.isalnum()]
        bare = "".join(match[0][at] for at in places)
        if not bare.isascii():
            continue
        for length in _LENGTHS:
            if len(bare) >= length and mod97(bare[4:length] + bare[:4]) == 1:
                yield match.start(), match.start() + places[length - 1] + 1
                break
