"""JSON of somebody who may mean ill: counted before anything is made of it.

A few bytes of JSON become a hundred in memory: 15 MB of ``[{},{},...]`` take half a gigabyte.
"""

import json
import re

from veil.search.engines.network._wire import NEVER, Deadline

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
