"""Addresses of e-mail."""

import re
from collections.abc import Iterator

from veil.text.redact.span import Place

_ADDRESS = re.compile(
    r"(?<![\w.+%-])[\w.+%-][\w.+%'&!#$*=~-]{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}"
)


def find(text: str) -> Iterator[Place]:
    """Find addresses, also of hosts without a dot.

    >>> list(find("write to j.doe@example.org, please"))
    [(9, 26)]
    """
    return (match.span() for match in _ADDRESS.finditer(text))
