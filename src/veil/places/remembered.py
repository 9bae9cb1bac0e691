"""Remember one result: laws are asked in blocks, for the same candidates again and again."""

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from veil.core.types import Floats

T = TypeVar("T")


class Remembered(Generic[T]):
    """The last result for candidates (m, 2) and what else it depends on.

    It is used again when all are the very objects of the last time, and the candidates cannot be
    written to (as those of `Points`); only weak references to them are held.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[weakref.ref[object], ...], T] | None = None

    def of(self, candidates: Floats, others: tuple[object, ...], work: Callable[[], T]) -> T:
        """Return the result, and work for it if need be."""
        objects = (candidates, *others)
        last = self._last
        if last is not None and tuple(map(id, objects)) == tuple(id(ref()) for ref in last[0]):
            return last[1]
        result = work()
        if not candidates.flags.writeable:
            self._last = (tuple(weakref.ref(thing) for thing in objects), result)
        return result
