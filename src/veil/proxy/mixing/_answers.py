"""Answers of an engine, kept in memory for a while so that nobody need be asked again."""

from collections import OrderedDict
from typing import NamedTuple

from veil.proxy.mixing._mixing import Answer, Key

MOST_ANSWERS = 5_000
MOST_CHARACTERS = 50_000_000  # of all answers together
_PER_HIT = 300  # characters that the strings, the number and the tuple of a hit are counted for


class _Kept(NamedTuple):
    until: float
    hits: Answer
    size: int


class Answers:
    """What was answered in the last seconds; never written down: it tells what was sent.

    An answer is not renewed by being used. The oldest make room for new ones.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()  # the oldest first
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Key, now: float) -> Answer | None:
        """Return the answer to a variant; None if there is none any more."""
        kept = self._kept.get(key)
        return kept.hits if kept is not None and now < kept.until else None

    def keep(self, key: Key, hits: Answer, now: float) -> None:
        """Keep an answer, unless it is too large."""
        size = len(key[0]) + sum(
            len(hit.id) + len(hit.title) + len(hit.text) + _PER_HIT for hit in hits
        )
        if not self._seconds or size > MOST_CHARACTERS:
            return
        self._drop(key)
        self._kept[key] = _Kept(now + self._seconds, hits, size)
        self._size += size
        while len(self._kept) > MOST_ANSWERS or self._size > MOST_CHARACTERS:
            self._drop(next(iter(self._kept)))

    def expire(self, now: float) -> None:
        """Drop what is too old."""
        while self.soonest() <= now:
            self._drop(next(iter(self._kept)))

    def soonest(self) -> float:
        """Return when the oldest answer expires; infinity where there is none."""
        return next(iter(self._kept.values())).until if self._kept else float("inf")

    def forget(self) -> None:
        """Drop everything."""
        self._kept.clear()
        self._size = 0

    def _drop(self, key: Key) -> None:
        kept = self._kept.pop(key, None)
        self._size -= kept.size if kept is not None else 0
