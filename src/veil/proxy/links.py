r"""Addresses that may become links: those that every reader takes apart in the same way.

A browser reads ``https://evil.example\@good.example/`` as a page of evil.example, other programs
as one of good.example. What is shown must be where the link leads, so that an address with
anything that is read in two ways is no link: it is shown as the text that it is.
"""

import ipaddress
import re
import unicodedata
from encodings import idna
from typing import NamedTuple

from veil.core.formatting import is_printable

MOST = 2_000  # characters of an address
_ADDRESS = re.compile(
    r"(https?)://([^/?#\\@%\s]+)([/?#].*)?", re.IGNORECASE | re.ASCII | re.DOTALL
)
_HOST = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^:\[\]]+)(?::([1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # a last label by which a browser takes the host for
_DEVIATIONS = re.compile("[ßẞς\u200c\u200d]")  # IPv4; and letters that two standards map apart
_DEFAULT = {"http": 80, "https": 443}


class Link(NamedTuple):
    """An address that may be followed."""

    href: str
    host: str  # as `new URL(href).host` gives it, with the port if it is not the usual one
    path: str  # without query string and fragment


def link_of(address: str) -> Link | None:
    r"""Take an address of an engine apart; None for what must not become a link.

    >>> link_of("https://Example.org:443/a?b#c")
    Link(href='https://example.org/a?b#c', host='example.org', path='/a')
    >>> link_of(r"https://evil.example\@good.example/") is None
    True
    """
    found = _ADDRESS.fullmatch(address) if len(address) <= MOST else None
    if found is None:
        return None
    scheme, authority, rest = found[1].lower(), found[2], found[3] or ""
    parts = _HOST.fullmatch(authority)
    if parts is None or "\\" in rest or not all(map(_is_visible, rest)):
        return None
    host, port = _host(parts[1]), int(parts[2] or _DEFAULT[scheme])
    if not host or port > 65_535:
        return None
    where = host if port == _DEFAULT[scheme] else f"{host}:{port}"
    return Link(f"{scheme}://{where}{rest}", where, re.split(r"[?#]", rest, maxsplit=1)[0])


def _is_visible(character: str) -> bool:
    """Refuse white space, control and format characters, and those that are not assigned."""
    return unicodedata.category(character)[0] not in "CZ"


def _host(name: str) -> str:
    """Return a host in the one form that browsers show, or nothing where they differ."""
    if name.startswith("["):
        return _ipv6(name)
    labels = [_label(label) for label in name.split(".")]
    host = ".".join(labels)
    if not all(labels) or len(host) > 253:
        return ""
    return _ipv4(host) if _NUMBER.fullmatch(labels[-1]) else host


def _ipv4(host: str) -> str:
    """Take four decimal numbers, and no other way to write them."""
    try:
        return host if str(ipaddress.IPv4Address(host)) == host else ""
    except ValueError:
        return ""


def _ipv6(name: str) -> str:
    try:
        address = ipaddress.IPv6Address(name[1:-1])
    except ValueError:
        return ""
    return f"[{address}]" if "." not in str(address) else ""


def _label(label: str) -> str:
    """Return a part of a host's name in ASCII; nothing for what is no name, or a disguise."""
    written = label.lower() if label.isascii() else _punycode(label)
    if written.startswith("xn--") and not _is_punycode(written):
        return ""
    return written if _LABEL.fullmatch(written) else ""


def _punycode(label: str) -> str:
    """Write a name in letters of the world as xn--; nothing if it only looks like one."""
    kinds = {unicodedata.category(letter)[0] for letter in label if not letter.isascii()}
    if _DEVIATIONS.search(label) or not kinds <= {"L", "M"}:
        return ""
    try:
        written = idna.ToASCII(label).decode("ascii").lower()
    except UnicodeError:
        return ""
    return written if written.startswith("xn--") else ""  # else full-width letters, or the like


def _is_punycode(label: str) -> bool:
    try:
        read = label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return False
    return not read.isascii() and is_printable(read)
