"""Errors that are told again, with where they arose, stay what they are."""

import pytest

import veil
from veil.core.errors import (
    EngineError,
    MissingExtraError,
    UnprotectedError,
    VeilError,
    with_message,
)
from veil.studies.choose import Choice, UncertifiedError
from veil.studies.study import locate_errors

CHOICE = Choice.__new__(Choice)


@pytest.mark.parametrize(
    "error",
    [
        UnprotectedError(3, "Row 3"),
        EngineError("It is down.", sent=4),
        MissingExtraError("It is not installed."),
        UncertifiedError("None is certified.", CHOICE),
    ],
)
def test_an_error_is_told_again_whatever_its_class_takes(error: VeilError) -> None:
    with pytest.raises(type(error)) as raised, locate_errors("Cell 2"):
        raise error
    assert str(raised.value) == f"Cell 2: {error}"
    assert vars(raised.value) == vars(error)


def test_every_class_of_errors_can_be_told_again() -> None:
    kinds = [getattr(veil, name) for name in veil.__all__ if name.endswith("Error")]
    assert UnprotectedError in kinds
    for kind in kinds:
        assert str(with_message(kind.__new__(kind), "So it is.")) == "So it is."
