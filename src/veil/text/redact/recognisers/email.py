"""E-mail addresses."""

import re
from collections.abc import Iterator

from veil.text.redact.span import Place

_LOCAL = (
    r"(?:(?<![\w.+%-])[\w.+%{#!$^~-][\w.+%'&!#$*=~/?^`{|}-]{0,127}"
    r"|(?<![\w\"])\"(?:[^\"\\\n]|\\.){1,64}\"|(?<![\w'])'[^'\s@]{1,64}')"
)
_LABEL = r"[\w-]{1,63}"
# spellings that hide an address from programs
_DOT = r"(?:\.|\[\.\]|\(\.\)| ?\[ ?dot ?\] ?| ?\( ?dot ?\) ?| ?[{<]dot[}>] ?)"
_LITERAL = r"\[(?:ipv6:)?[\da-f:.]{2,45}\]"  # an IP address
_AT = r"(?: ?\[ ?(?:at|@) ?\] ?| ?\( ?(?:at|@) ?\) ?| ?[{<]at[}>] ?)"
_ADDRESS = re.compile(
    rf"{_LOCAL}(?:@{{1,2}}(?:{_LITERAL}|{_LABEL}(?:{_DOT}{_LABEL}){{0,8}})"
    rf"|{_AT}{_LABEL}(?:{_DOT}{_LABEL}){{1,8}}"
    rf"| ?@ {_LABEL}(?:\.{_LABEL}){{0,7}}\.[a-z]{{2,24}}(?!\w)"
    rf"| at {_LABEL}(?: dot {_LABEL}){{0,7}} dot (?:com|org|net|edu|gov|info|[a-z]{{2}})(?!\w))",
    re.IGNORECASE,
)


def find(text: str) -> Iterator[Place]:
    """Return addresses, also spelt out, or of hosts without a dot.

    >>> list(find("write to j.doe@example.org, please"))
    [(9, 26)]
    """
    return (match.span() for match in _ADDRESS.finditer(text) if not _is_mention(match[0]))


def _is_mention(address: str) -> bool:
    """Return whether this is a mention, such as `.@ada` or `hello!@ada`, and not an address."""
    local, _, host = address.rpartition("@")
    return (
        bool(local)
        and host.replace("-", "").isalnum()
        and not (local[-1].isalnum() or local[-1] in "\"'_+-}")
    )
