"""One charge of a budget, as it is kept and shown."""

from dataclasses import dataclass
from datetime import datetime

from veil.core.errors import ParameterError
from veil.dp.accounting.cost import Cost

_LONGEST = 200  # letters of a note


@dataclass(frozen=True, slots=True)
class Event:
    """What was charged when, how many times, and the note of who charged it."""

    number: int
    at: datetime
    cost: Cost
    times: int = 1
    note: str = ""


def checked_note(note: object) -> str:
    """Return a note that is one short line."""
    if not isinstance(note, str) or len(note) > _LONGEST or not (note.isprintable() or not note):
        raise ParameterError(f"A note must be one line of at most {_LONGEST} letters.")
    return note
