"""Work that leaves nothing for others to notice by the time that theirs takes.

What was computed for a word is kept, so that the next who asks for the word has it at once: and
knows by that that it was asked for. Where several can ask, each has caches of its own.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, cast

T = TypeVar("T")

_CACHES: ContextVar[dict[Hashable, object] | None] = ContextVar("veil.apart", default=None)


@contextmanager
def apart() -> Iterator[None]:
    """Give what runs inside caches of its own, which are thrown away at the end.

    It holds for one thread: threads that are started inside share the caches of all again.

    >>> with apart():
    ...     own("words", list) is own("words", list)
    True
    >>> own("words", list) is None
    True
    """
    before = _CACHES.set({})
    try:
        yield
    finally:
        _CACHES.reset(before)


def own(name: Hashable, make: Callable[[], T]) -> T | None:
    """Return a cache of the work under way, made when first asked for; None where all share."""
    caches = _CACHES.get()
    if caches is None:
        return None
    if name not in caches:
        caches[name] = make()
    return cast(T, caches[name])
