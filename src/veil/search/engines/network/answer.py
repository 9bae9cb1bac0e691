"""Read what an engine answered: JSON, places in it, names and plain texts. Nothing is trusted."""

import html
import math
import re
from collections.abc import Callable

from veil.core.formatting import marked, printable
from veil.search.engines.engine import Hit
from veil.search.engines.network.counted_json import ExcessError, most_values, read
from veil.search.engines.network.exchange import Answer, accept
from veil.search.engines.network.remote import NoAnswer

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
    return marked(text) if len(text) <= MAX_ID else ""


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
