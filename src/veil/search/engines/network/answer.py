"""Parse the JSON answers of engines, which are not trusted.

The values are counted before they are parsed, because a few bytes of JSON can take a hundred in
memory: 15 MB of ``[{},{},...]`` take half a gigabyte.
"""

import html
import json
import math
import re
from collections.abc import Callable

from veil.core.formatting import mark_unprintable, printable
from veil.search.engines.engine import Hit
from veil.search.engines.network.connection import NEVER, Deadline
from veil.search.engines.network.exchange import Answer, accept
from veil.search.engines.network.remote import NoAnswer

MAX_DEPTH = 100  # of nested lists and objects
_VALUES = 50_000  # in any answer
_VALUES_PER_ITEM = 500
_EVERY = 4_096  # tokens between two checks of the deadline

# A string (terminated or not, so that no byte is scanned twice), or a delimiter.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{,:]|[\]}]', re.DOTALL)
_OPEN, _CLOSED = b"[{", b"]}"


class ExcessError(Exception):
    """Too many values, or too deeply nested ones."""


def most_values(k: int) -> int:
    """Return how many values an answer with `k` items may have."""
    return _VALUES + _VALUES_PER_ITEM * k


def read(body: bytes, most: int = _VALUES, until: Deadline = NEVER) -> object:
    """Return the JSON value of a UTF-8 body, or None if it is not JSON.

    Raises
    ------
    ExcessError
        If there are more than `most` values, or they are nested too deeply.
    TimeoutError
        If the deadline `until` has passed.
    """
    _count(body, most, until)
    try:
        value: object = json.loads(body.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    until.remaining()
    return value


def _count(body: bytes, most: int, until: Deadline) -> None:
    """Raise if there are too many values. `json` never creates more values than counted here."""
    depth = 0
    for number, token in enumerate(_TOKEN.finditer(body)):
        first = body[token.start()]
        depth += (first in _OPEN) - (first in _CLOSED)
        if number > 5 * most or depth > MAX_DEPTH:  # key, colon, two brackets, comma
            raise ExcessError
        if number % _EVERY == 0:
            until.remaining()


MAX_ID = 4_096  # characters
MAX_TITLE = 500
MAX_TEXT = 20_000
_LONGEST_NUMBER = 100
_PARTS = 1_000  # of a text that is a list of strings

_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_NO_CHARACTER = re.compile(r"&#[0-9]{9,};?|&#[xX][0-9A-Fa-f]{9,};?")  # too long to be read


def read_json(
    answer: Answer, k: int, *, code: str = "", hints: dict[int, str] | None = None
) -> object:
    """Return the JSON value of a successful answer with `k` items."""
    body = accept(answer, code=code, hints=hints)
    if answer.kind == "text/html" or body.lstrip()[:1] == b"<":
        raise NoAnswer(
            f"The engine at {answer.where} answered with a web page, not JSON. Check the address,"
            " and that its JSON interface is enabled."
        )
    try:
        value = read(body, most_values(k), answer.until)
    except ExcessError:
        raise NoAnswer(
            f"The engine at {answer.where} answered with too many JSON values, or too deeply"
            " nested ones."
        ) from None
    except TimeoutError:
        raise _late(answer) from None
    if value is None:
        raise NoAnswer(f"The engine at {answer.where} did not answer with JSON.")
    return value


def parse(body: bytes) -> object:
    """Return a JSON value, or None if `body` is not JSON or has too many values."""
    try:
        return read(body)
    except ExcessError:
        return None


def follow(value: object, path: str) -> object:
    """Return the value at a dotted path such as ``hits.0.title``, or None."""
    for part in path.split(".") if path else ():
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return None
    return value


def items(value: object, path: str, where: str) -> list[object]:
    """Return the list at a path, or raise `NoAnswer`."""
    values = follow(value, path)
    if not isinstance(values, list):
        place = f"at '{path}'" if path else "at the top"
        raise NoAnswer(f"The engine at {where} answered with unexpected JSON: no list {place}.")
    return values


def first(
    values: list[object], k: int, path: str, make: Callable[[object, str], Hit], answer: Answer
) -> list[Hit]:
    """Return hits for the first `k` values with distinct ids. `path` leads to the id."""
    hits: dict[str, Hit] = {}
    try:
        for value in values:
            answer.until.remaining()
            name = label(follow(value, path))
            if name and name not in hits:
                hits[name] = make(value, name)
            if len(hits) == k:
                break
    except TimeoutError:
        raise _late(answer) from None
    return list(hits.values())


def _late(answer: Answer) -> NoAnswer:
    return NoAnswer(f"The answer of the engine at {answer.where} could not be read in time.")


def hit(name: str, score: object, title: object, text: object) -> Hit:
    """Return a hit with validated score, title and text."""
    return Hit(name, number(score), clean_text(title, MAX_TITLE), clean_text(text, MAX_TEXT))


def label(value: object) -> str:
    """Return an item's id as a string, or "" if the value cannot be an id."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value).strip()
    return mark_unprintable(text) if len(text) <= MAX_ID else ""


def number(value: object) -> float | None:
    """Return a score, or None if the value is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
        return None
    try:
        score = float(value)
    except (ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def clean_text(value: object, longest: int) -> str:
    """Return a text without tags, entities and control characters, or "" if it is not a text."""
    if isinstance(value, list):
        value = " ".join(part[: 4 * longest] for part in value[:_PARTS] if isinstance(part, str))
    if not isinstance(value, str):
        return label(value)[:longest]
    text = html.unescape(_NO_CHARACTER.sub("", _TAG.sub(" ", value[: 4 * longest])))
    return " ".join(printable(text).split())[:longest]
