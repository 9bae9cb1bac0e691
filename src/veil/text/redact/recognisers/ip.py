"""IPv4 and IPv6 addresses."""

import ipaddress
import re
from collections.abc import Iterator

from veil.text.redact.span import Place

_FOUR = re.compile(  # v1.2.3.4 is a version; [.] prevents links
    r"(?<![\dvV.])\d{1,3}(?:(?:[\[(]?\.[\])]?|\[dot\])\d{1,3}){3}(?!\d|\.\d)"
)
_SIX = re.compile(r"(?<![\w:.])(?:[A-Za-z]+:(?=[\w:]))??([0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)(?!\w)")
_LARGEST = 255


def find(text: str) -> Iterator[Place]:
    """Yield addresses, but not times such as 10:30:15.

    >>> list(find("from 192.0.2.17 and ip:2001:db8::1 at 10:30:15"))
    [(5, 15), (23, 34)]
    """
    for match in _FOUR.finditer(text):
        if all(int(part) <= _LARGEST for part in re.findall(r"\d+", match[0])):  # even 010.0.0.1
            yield match.span()
    for match in _SIX.finditer(text):
        if address := _longest(match[1]):
            yield match.start(1), match.start(1) + len(address)


def _longest(address: str) -> str:
    """Return the longest prefix that is an address; a port may follow a dot."""
    while address:
        address = address.rstrip(".")
        address = address if address.endswith("::") else address.rstrip(":")
        if address.strip(":") and _six(address):  # a bare '::' is punctuation
            return address
        address = address.rpartition(".")[0]
    return ""


def _six(address: str) -> bool:
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True
