"""Addresses of engines and the secrets that go with them; messages quote neither."""

import os
import re
import urllib.parse
from typing import NamedTuple

from pydantic_core import PydanticCustomError

from veil.core.errors import ParameterError
from veil.search.engines.network._wire import basic

_HOST = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+")
_SAFE = "%/:=&?~#+!$,;'@()*[]"  # left as they are in the path and query of an address


class Target(NamedTuple):
    """An address in its parts."""

    scheme: str
    host: str
    port: int
    where: str  # host and port as given: all that a message may name
    path: str  # with the query string


def target(url: str) -> Target:
    """Take an address apart, or raise ValueError with a sentence's end that does not quote it."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("must be an address such as http://localhost:9200") from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        raise ValueError("must begin with http:// or https:// and a host name in ASCII")
    if "@" in parts.netloc:
        raise ValueError(
            "must hold no user and no password; put them into an environment variable and name"
            " that with 'auth'"
        )
    if parts.fragment or any(ord(character) < 33 for character in url):
        raise ValueError("must hold no spaces and no fragment (#)")
    path = urllib.parse.quote(parts.path or "/", safe=_SAFE)
    path += f"?{urllib.parse.quote(parts.query, safe=_SAFE)}" if parts.query else ""
    default = 443 if parts.scheme == "https" else 80
    return Target(parts.scheme, host, port or default, parts.netloc, path)


def check_url(url: str) -> str:
    """Let an address pass, for a pydantic field."""
    try:
        target(url)
    except ValueError as error:
        raise PydanticCustomError("url", "{wanted}", {"wanted": str(error)}) from None
    return url


def authorization(variable: str) -> str:
    """Read a secret from the environment; no message quotes it."""
    if not variable:
        return ""
    value = os.environ.get(variable, "")
    if not value:
        raise ParameterError(
            f"The environment variable {variable}, which 'auth' names, is not set; set it to"
            " user:password or to a whole Authorization value."
        )
    scheme, space, _ = value.partition(" ")
    whole = bool(space) and ":" not in scheme
    if not value.isprintable() or (whole and not value.isascii()) or not (whole or ":" in value):
        raise ParameterError(
            f"The environment variable {variable} must hold user:password, or a scheme and a"
            " token with a space between."
        )
    return value if whole else basic(value)
