"""A cache bounded in bytes."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
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
