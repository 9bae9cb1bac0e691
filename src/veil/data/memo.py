"""Caches: bounded in bytes, or private to the work under way.

Work that leaves nothing for others to notice by the time that theirs takes.
What was computed for a word is kept, so that the next who asks for the word has it at once: and
knows by that that it was asked for. Where several can ask, each has caches of its own.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar, cast


class Sized(Protocol):
    """Anything that knows how much memory it holds."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        ...


T = TypeVar("T", bound=Sized)


class Memo:
    """Least recently used entries leave first; an entry larger than the bound is never held.

    >>> import numpy as np
    >>> memo = Memo(limit=16)
    >>> memo.put("a", np.zeros(1)); memo.put("b", np.zeros(1)); memo.put("c", np.zeros(1))
    >>> [key in memo for key in "abc"], memo.nbytes
    ([False, True, True], 16)
    """

    def __init__(self, limit: int = 256 * 2**20) -> None:
        self.limit = limit
        self.nbytes = 0
        self._entries: OrderedDict[Hashable, Sized] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    def get(self, key: Hashable, kind: type[T]) -> T | None:
        """Return the entry, or None; an entry used is young again."""
        del kind  # only tells the type checker what was put there
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
        return cast("T | None", entry)

    def put(self, key: Hashable, entry: Sized) -> None:
        """Hold an entry, and let go of old ones until all fits."""
        with self._lock:
            old = self._entries.pop(key, None)
            if old is not None:
                self.nbytes -= old.nbytes
            if entry.nbytes > self.limit:
                return
            self._entries[key] = entry
            self.nbytes += entry.nbytes
            while self.nbytes > self.limit:
                _, gone = self._entries.popitem(last=False)
                self.nbytes -= gone.nbytes


Cache = TypeVar("Cache")

_CACHES: ContextVar[dict[Hashable, object] | None] = ContextVar("veil.apart", default=None)


@contextmanager
def private_caches() -> Iterator[None]:
    """Give what runs inside caches of its own, which are thrown away at the end.

    It holds for one thread: threads that are started inside share the caches of all again.

    >>> with private_caches():
    ...     private_cache("words", list) is private_cache("words", list)
    True
    >>> private_cache("words", list) is None
    True
    """
    before = _CACHES.set({})
    try:
        yield
    finally:
        _CACHES.reset(before)


def private_cache(name: Hashable, make: Callable[[], Cache]) -> Cache | None:
    """Return a cache of the work under way, made when first asked for; None where all share."""
    caches = _CACHES.get()
    if caches is None:
        return None
    if name not in caches:
        caches[name] = make()
    return cast(Cache, caches[name])
