"""Read what an engine answered: JSON, places in it, names and plain texts. Nothing is trusted.

JSON of somebody who may mean ill: counted before anything is made of it.
A few bytes of JSON become a hundred in memory: 15 MB of ``[{},{},...]`` take half a gigabyte.
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

MAX_DEPTH = 100  # of lists and objects in each other
_VALUES = 50_000  # in any answer
_VALUES_PER_ITEM = 500
_EVERY = 4_096  # tokens between two looks at the clock

# A string (also one that does not end, so that none is looked at twice), or what parts values.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{,:]|[\]}]', re.DOTALL)
_OPEN, _CLOSED = b"[{", b"]}"


class ExcessError(Exception):
    """More values, or more of them in each other, than an answer has."""


def most_values(k: int) -> int:
    """Return how many values an answer of `k` items may hold."""
    return _VALUES + _VALUES_PER_ITEM * k


def read(body: bytes, most: int = _VALUES, until: Deadline = NEVER) -> object:
    """Return a JSON value in UTF-8; None for what is not JSON.

    Raises
    ------
    ExcessError
        If there are more than `most` values, or they are nested too deeply.
    TimeoutError
        If the time is over.
    """
    _count(body, most, until)
    try:
        value: object = json.loads(body.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    until.left()
    return value


def _count(body: bytes, most: int, until: Deadline) -> None:
    """Go through a text once; whatever `json` makes of it has no more values than are counted."""
    depth = 0
    for number, found in enumerate(_TOKEN.finditer(body)):
        first = body[found.start()]
        depth += (first in _OPEN) - (first in _CLOSED)
        if number > 5 * most or depth > MAX_DEPTH:  # a name, a colon, two brackets, a comma
            raise ExcessError
        if number % _EVERY == 0:
            until.left()


MAX_ID = 4_096  # characters
MAX_TITLE = 500
MAX_TEXT = 20_000
_LONGEST_NUMBER = 100
_PARTS = 1_000  # of a text that comes as a list

_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_NO_CHARACTER = re.compile(r"&#[0-9]{9,};?|&#[xX][0-9A-Fa-f]{9,};?")  # too long to be read


def read_json(
    answer: Answer, k: int, *, code: str = "", hints: dict[int, str] | None = None
) -> object:
    """Return the JSON value of a successful answer of `k` items."""
    body = accept(answer, code=code, hints=hints)
    if answer.kind == "text/html" or body.lstrip()[:1] == b"<":
        raise NoAnswer(
            f"The engine at {answer.where} answered with a web page, not JSON: check the address"
            " and that its JSON interface is switched on."
        )
    try:
        value = read(body, most_values(k), answer.until)
    except ExcessError:
        raise NoAnswer(
            f"The engine at {answer.where} answered with more values than are read, or"
            " with too deeply nested ones."
        ) from None
    except TimeoutError:
        raise _late(answer) from None
    if value is None:
        raise NoAnswer(f"The engine at {answer.where} answered with something that is not JSON.")
    return value


def parse(body: bytes) -> object:
    """Return a JSON value; None for what is not JSON, or too much of it."""
    try:
        return read(body)
    except ExcessError:
        return None


def follow(value: object, path: str) -> object:
    """Return what stands at a dotted path, such as ``hits.0.title``; None if nothing does."""
    for part in path.split(".") if path else ():
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return None
    return value


def items(value: object, path: str, where: str) -> list[object]:
    """Return the list at a path."""
    found = follow(value, path)
    if not isinstance(found, list):
        place = f"at '{path}'" if path else "at the top"
        raise NoAnswer(f"The engine at {where} answered JSON of another shape: no list {place}.")
    return found


def first(
    values: list[object], k: int, path: str, make: Callable[[object, str], Hit], answer: Answer
) -> list[Hit]:
    """Make items of the first `k` that have a name, which stands at a path; of the others none."""
    made: dict[str, Hit] = {}
    try:
        for value in values:
            answer.until.left()
            name = label(follow(value, path))
            if name and name not in made:
                made[name] = make(value, name)
            if len(made) == k:
                break
    except TimeoutError:
        raise _late(answer) from None
    return list(made.values())


def _late(answer: Answer) -> NoAnswer:
    return NoAnswer(f"The engine at {answer.where} answered more than could be read in time.")


def hit(name: str, score: object, title: object, text: object) -> Hit:
    """Return an item with what an engine says of it, as far as that can be used."""
    return Hit(name, number(score), plain(title, MAX_TITLE), plain(text, MAX_TEXT))


def label(value: object) -> str:
    """Return the name of an item as a string, or nothing for what is no name."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value).strip()
    return mark_unprintable(text) if len(text) <= MAX_ID else ""


def number(value: object) -> float | None:
    """Return a score; None for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
        return None
    try:
        score = float(value)
    except (ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def plain(value: object, longest: int) -> str:
    """Return a text without tags, entities and control characters; nothing for what is no text."""
    if isinstance(value, list):
        value = " ".join(each[: 4 * longest] for each in value[:_PARTS] if isinstance(each, str))
    if not isinstance(value, str):
        return label(value)[:longest]
    text = html.unescape(_NO_CHARACTER.sub("", _TAG.sub(" ", value[: 4 * longest])))
    return " ".join(printable(text).split())[:longest]
