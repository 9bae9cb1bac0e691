"""Addresses of machines: IPv4 and IPv6."""

import ipaddress
import re
from collections.abc import Iterator

from veil.text.redact.span import Place

_FOUR = r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)"
_SIX = r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:(?:\.\d{1,3}){3})?(?![\w:])"
_ADDRESS = re.compile(f"{_FOUR}|{_SIX}")


def find(text: str) -> Iterator[Place]:
    """Find addresses; a time such as 10:30:15 is none.

    >>> list(find("from 192.0.2.17 and 2001:db8::1 at 10:30:15"))
    [(5, 15), (20, 31)]
    """
    for match in _ADDRESS.finditer(text):
        try:
            ipaddress.ip_address(match[0])
        except ValueError:
            continue
        if match[0].strip(":"):  # '::' alone is punctuation
            yield match.span()
