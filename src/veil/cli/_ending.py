"""What a command that was cut short left behind: in one place, whatever cut it short."""

from collections.abc import Iterator
from contextlib import contextmanager

_NOTHING = "no file was written"
_SENT = "variants may have been sent, and count as released"


@contextmanager
def sending() -> Iterator[None]:
    """Let whatever ends the work inside, an interrupt too, be told as after a sending."""
    try:
        yield
    except BaseException as error:
        error.add_note(_SENT)
        raise


def left_by(error: BaseException) -> str:
    """Say what the work that an error ended left behind."""
    both = (error, error.__cause__)  # an interrupt is the cause of click's own error
    sent = any(_SENT in getattr(each, "__notes__", ()) for each in both)
    return _SENT if sent else _NOTHING
