"""What is read from the ledger, as the type it must have; anything else is damage.

SQLite keeps whatever it is given, and a file can be changed by others than Veil.
"""

import json
import re
import sqlite3
from datetime import datetime

from veil.corpus.tokens import Case

LATEST = 2.5e11  # seconds since 1970: what comes after has no date
_LAYOUT = re.compile(r"(?:[^%]|%%|%s)*", re.DOTALL)
_HASH = 16  # bytes


def amount(value: object) -> float:
    """Return a sum that may be infinite, but is never negative or no number."""
    if isinstance(value, int | float) and value >= 0:
        return float(value)
    raise sqlite3.DatabaseError


def seconds(value: object) -> float:
    """Return a moment, as seconds since 1970."""
    if (found := amount(value)) < LATEST:
        return found
    raise sqlite3.DatabaseError


def moment(value: object) -> datetime:
    """Return a moment, as the user's clock shows it."""
    return datetime.fromtimestamp(seconds(value)).astimezone()


def count(value: object) -> int:
    """Return a whole number, 0 or more."""
    if isinstance(value, int) and value >= 0:
        return value
    raise sqlite3.DatabaseError


def text(value: object) -> str:
    """Return a text."""
    if isinstance(value, str):
        return value
    raise sqlite3.DatabaseError


def hashed(value: object) -> bytes:
    """Return a hash."""
    if isinstance(value, bytes) and len(value) == _HASH:
        return value
    raise sqlite3.DatabaseError


def form(value: object) -> str:
    """Return the layout and the capitals of a text, see `Draft.form`; "" where there is none."""
    found = text(value)
    try:
        layout, cases = json.loads(found or '["", []]')
        words = len([Case(case) for case in cases])
        fits = _LAYOUT.fullmatch(layout) and layout.replace("%%", "").count("%s") == words
    except (ValueError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise sqlite3.DatabaseError
    return found
