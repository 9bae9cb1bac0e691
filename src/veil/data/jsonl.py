"""Rows of JSON lines: an object each, or a string, which is a text without columns."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from veil.core.errors import InputError
from veil.data.header import Header, Pick, Row, place, taken


class _TwiceError(ValueError):
    """A key stands in an object twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError
    return found


def _value(line: str, where: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(line, object_pairs_hook=_once)
    except _TwiceError:
        raise InputError(f"{where} has two keys of one name; rename one.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{where} is not JSON; repair it.") from None


def read_jsonl(lines: Iterable[str], name: str, pick: Pick) -> Iterator[Row[Any]]:
    """Yield the rows; `pick` is asked again whenever the keys are not those of the row before."""
    number = 0
    known: tuple[str, ...] | None = None
    positions: Sequence[int] = ()
    for line, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        number += 1
        where = place(name, number, line)
        value = _value(content, where)
        if isinstance(value, str):
            known, positions = None, pick(Header(("text",), where, "plain"))
            yield Row(number, line, taken([value], positions))
        elif isinstance(value, dict):
            if (keys := tuple(value)) != known:
                known, positions = keys, pick(Header.of(keys, where))
            yield Row(number, line, taken(list(value.values()), positions))
        else:
            raise InputError(f"{where} must be a JSON object or string.")
