"""Caches: bounded in bytes, or private to one task.

A shared cache has a timing side channel: a fast answer for a word reveals that somebody has
queried it before. If several people share a process, each task has private caches.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar, cast


class Sized(Protocol):
    """Anything with a size in bytes."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        ...


T = TypeVar("T", bound=Sized)


class Memo:
    """A cache that drops the least recently used entries, and never stores one above the limit.

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
        """Return the entry and mark it as used, or None."""
        del kind  # for the type checker
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
        return cast("T | None", entry)

    def put(self, key: Hashable, entry: Sized) -> None:
        """Store an entry, and drop old ones until all fit."""
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
    """Give the enclosed code private caches, which are discarded at the end.

    This applies to one thread. Threads started inside use the shared caches.

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
    """Return a private cache, created on first use, or None outside of `private_caches`."""
    caches = _CACHES.get()
    if caches is None:
        return None
    if name not in caches:
        caches[name] = make()
    return cast(Cache, caches[name])
