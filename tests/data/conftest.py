"""A word that must never show up in a message, and helpers to look for it."""

import traceback
from collections.abc import Callable

import pytest

CANARY = "xanthippe"


@pytest.fixture
def canary() -> str:
    return CANARY


@pytest.fixture
def silent() -> Callable[[BaseException], None]:
    """Check that an error is one sentence and says nothing of what the file holds."""

    def check(error: BaseException) -> None:
        shown = "".join(traceback.format_exception(error))
        assert CANARY not in shown.lower()
        assert error.__cause__ is None
        assert error.__context__ is None or error.__suppress_context__
        assert "\n" not in str(error)
        assert str(error).endswith(".")

    return check


@pytest.fixture
def spoken() -> Callable[[BaseException], str]:
    """Return the message, after checking that it is one sentence."""

    def check(error: BaseException) -> str:
        message = str(error)
        assert "\n" not in message
        assert message.endswith(".")
        return message

    return check
