"""Answers that a browser can go back to: in memory, for a while, under names nobody can guess."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from veil.web.messages import Response

_MOST = 32
_SECONDS = 3_600.0


class Kept:
    """Holds the last answers; the oldest go first, and each after a while.

    A browser cannot go back to the answer to a form, nor load it again, without sending the form
    again. So it is sent on to an address of its own, which holds no query.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, Response]] = OrderedDict()

    def put(self, answer: Response) -> str:
        """Keep an answer, and return its name."""
        name = secrets.token_urlsafe(16)
        self._answers[name] = self._clock() + _SECONDS, answer
        while len(self._answers) > _MOST:
            self._answers.popitem(last=False)
        return name

    def find(self, name: str) -> Response | None:
        """Return the answer of that name, or None if it is not kept any more."""
        now = self._clock()
        while self._answers and next(iter(self._answers.values()))[0] <= now:
            self._answers.popitem(last=False)
        found = self._answers.get(name)
        return None if found is None else found[1]

    def clear(self) -> None:
        """Keep nothing any more."""
        self._answers.clear()
