"""What comes in: bodies of a bounded size in a bounded time, forms, and strict JSON."""

import json
from typing import NoReturn, cast
from urllib.parse import parse_qsl

import anyio

from veil.web.faults import GoneError, StatusError
from veil.web.messages import Request, header_values

FORM_BYTES = 128 * 1024  # the longest query, of which every character takes twelve
JSON_BYTES = 1024 * 1024
_DRAIN = 8 * 1024 * 1024  # read and thrown away, so that the answer is seen
_FIELDS = 20


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """Return the body of a request, or refuse one that is too long or too slow."""
    body: bytes | None = None
    if _declared(request) <= _DRAIN:
        with anyio.move_on_after(seconds) as waited:
            body = await _read(request, limit)
        if waited.cancelled_caught:
            raise StatusError(
                408, f"The request was not complete after {seconds:g} seconds.", connection="close"
            )
    if body is None:
        raise StatusError(
            413, f"A request may have at most {limit:,} bytes; send less.", connection="close"
        )
    return body


async def _read(request: Request, limit: int) -> bytes | None:
    """Read to the end; None if that is too much."""
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise GoneError
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
        if size > _DRAIN:
            return None
        if size <= limit:
            pieces.append(message.get("body", b""))
    return b"".join(pieces) if size <= limit else None


def _declared(request: Request) -> int:
    told = header_values(request.scope, "content-length")
    return int(told[0]) if told and told[0].isdecimal() and len(told[0]) < 19 else 0


def require_type(request: Request, wanted: str) -> None:
    """Refuse a body of another type: the types of plain forms can be sent by any site."""
    told = header_values(request.scope, "content-type")
    if len(told) != 1 or told[0].partition(";")[0].strip().lower() != wanted:
        raise StatusError(415, f"The content type of the request must be {wanted}.")


def fields(encoded: bytes) -> dict[str, str]:
    """Read the fields of a form, or of the part of an address after the question mark.

    >>> fields(b"q=caf%C3%A9+noir&stop=3")
    {'q': 'café noir', 'stop': '3'}
    """
    try:
        pairs = parse_qsl(
            encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS
        )
    except UnicodeDecodeError:
        raise StatusError(422, "The fields of the request must be text in UTF-8.") from None
    except ValueError:
        raise StatusError(422, f"A request may have at most {_FIELDS} fields.") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise StatusError(422, "Each field of the request may be given once.")
    return found


def whole_number(text: str, name: str, low: int, high: int) -> int:
    """Read a whole number of a field, or say what it must be."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and low <= int(text) <= high):
        raise StatusError(
            422, f"The field '{name}' must be a whole number from {low} to {high:,}."
        )
    return int(text)


def read_json(body: bytes) -> object:
    """Read JSON as its standard has it: each name once, no NaN, in UTF-8, not too deep."""
    try:
        return cast(
            object,
            json.loads(body.decode(), object_pairs_hook=_unique, parse_constant=_no_number),
        )
    except StatusError:
        raise
    except UnicodeDecodeError:
        raise StatusError(422, "The request must be JSON in UTF-8.") from None
    except RecursionError:
        raise StatusError(422, "The request is nested too deeply.") from None
    except ValueError:
        raise StatusError(422, "The request must be JSON.") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise StatusError(422, "Each name in an object of the request may be given once.")
    return found


def _no_number(constant: str) -> NoReturn:
    raise StatusError(422, f"The request must be JSON, which has no {constant}.")
