"""What all checks have in common: sentences, and what every component declares."""

import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from veil.core.component import Component, example
from veil.core.errors import ParameterError, VeilError

P = ParamSpec("P")


class _BrokenError(AssertionError):
    """What a check found, in one sentence."""


def in_one_sentence(hint: str = "") -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Let a check fail with a sentence also where a component raises; it may quote a text."""

    def decorate(check: Callable[P, None]) -> Callable[P, None]:
        @wraps(check)
        def told(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                check(*args, **kwargs)
            except VeilError:
                raise
            except _BrokenError as broken:
                sentence = str(broken)
            except Exception as error:  # noqa: BLE001 - whatever a component may raise
                sentence = _raised(error) + hint
            else:
                return
            raise AssertionError(sentence)

        return told

    return decorate


def _raised(error: Exception) -> str:
    """Say what was raised and where, without its message."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"a component may raise VeilErrors alone; at {where} it raised {type(error).__name__}"


def declared(cls: type[Component]) -> None:
    """Check what lists, help and documentation are made of."""
    name = getattr(cls, "name", "")
    require(
        isinstance(name, str) and name.isascii() and name.isidentifier(),
        "there must be a `name` of letters, digits and _, as a spec has it",
    )
    require(
        bool((vars(cls).get("__doc__") or "").strip()),
        "the class must have a docstring of its own, whose first line is listed",
    )
    for key, field in cls.model_fields.items():
        require(
            bool(field.examples) or not field.is_required(),
            f"the required field '{key}' must have an example: Field(examples=[...])",
        )
    require(builds(cls), "the first example of each required field must be valid")


def builds(cls: type[Component]) -> bool:
    try:
        example(cls)
    except ParameterError:
        return False
    return True


def require(holds: bool, sentence: str) -> None:
    if not holds:
        raise _BrokenError(sentence)
