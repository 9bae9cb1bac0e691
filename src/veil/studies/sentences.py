"""What is wrong with a study, in one sentence that names the file and the key."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic_core import ErrorDetails

from veil.core.errors import ParameterError, VeilError, retold

_KINDS = {
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "finite_number": "a finite number",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "too_short": "a list of at least {min_length}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "model_type": "a table, written as [[mechanism]]",
}
Place = tuple[int | str, ...]


def no_such_key(where: str, key: str, keys: Sequence[str]) -> ParameterError:
    """Say that there is no such key, which is the nearest, and which there are."""
    near = difflib.get_close_matches(key, keys, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return ParameterError(f"{where} has no '{key[:40]}'.{hint} There are: {', '.join(keys)}.")


def sentence(
    detail: ErrorDetails,
    found: Mapping[str, Any],
    name: str,
    keys: Callable[[Place], Sequence[str]],
) -> str:
    """Render one of pydantic's errors; `keys` gives those of a table by its place."""
    nested = len(detail["loc"]) > 2 and detail["loc"][0] == "mechanism"
    place = detail["loc"][:2] if nested else ()
    where = f"[[mechanism]] {int(place[1]) + 1} of {name}" if nested else name
    inner = detail["loc"][len(place) :]
    key = str(inner[0])
    if detail["type"] in ("extra_forbidden", "missing"):
        table = found["mechanism"][place[1]] if nested else found
        unknown = next((each for each in table if each not in keys(place)), None)
        if unknown is not None:  # also when the key that it was to be is missing
            return str(no_such_key(where, unknown, keys(place)))
        written = "[[mechanism]]" if key == "mechanism" else f"'{key}'"
        return f"{where} needs {written}; there are: {', '.join(keys(place))}."
    ordinal = f" number {int(inner[1]) + 1}" if len(inner) > 1 else ""
    wanted = _KINDS.get(detail["type"], detail["msg"][:1].lower() + detail["msg"][1:])
    wanted = wanted.format(**detail.get("ctx", {}))
    return (
        f"The '{key}'{ordinal} of {where} must be {wanted}. Got {detail['input']!r:.60} instead."
    )


@contextmanager
def told(where: str) -> Iterator[None]:
    """Say where in the study a mistake is."""
    try:
        yield
    except VeilError as error:
        raise retold(error, f"{where}: {error}") from None
