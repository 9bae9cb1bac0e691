"""Slow preparations, run once: at first use, or in the background."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from veil.core.errors import VeilError
from veil.core.parallel import BACKGROUND
from veil.data.fetch import Report, no_progress
from veil.text.vectors.embeddings import Embeddings


@dataclass(slots=True)
class LazyEmbeddings:
    """Word vectors that are opened once, at first use."""

    make: Callable[[], Embeddings]
    _embeddings: Embeddings | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> Embeddings:
        """Return the word vectors."""
        with self._lock:
            if self._embeddings is None:
                self._embeddings = self.make()
            return self._embeddings


T = TypeVar("T")


class Preparation(Generic[T]):
    """A result that `make` computes once, in whichever thread comes first.

    Attributes
    ----------
    made
        The result, or None.
    failure
        Why there is no result, in a sentence; empty if nothing failed.
    """

    def __init__(self, what: str, make: Callable[[Report], T]) -> None:
        self.made: T | None = None
        self.failure = ""
        self._what, self._make = what, make
        self._claimed = threading.Lock()
        self._done = threading.Event()
        self._listeners: list[Report] = []

    @property
    def done(self) -> bool:
        """Whether it was attempted, successfully or not."""
        return self._done.is_set()

    def start(self) -> None:
        """Start in a background thread, unless it was started; the program may exit meanwhile."""
        if self._claimed.acquire(blocking=False):
            threading.Thread(target=self._run, name=BACKGROUND, daemon=True).start()

    def wait(self, report: Report = no_progress) -> None:
        """Run it in this thread, or wait for the thread that does."""
        self._listeners.append(report)
        try:
            if self._claimed.acquire(blocking=False):
                self._run()
            self._done.wait()
        finally:
            self._listeners.remove(report)

    def _run(self) -> None:
        failure = f"{self._what} could not be prepared: interrupted. Start again."
        try:
            self.made = self._make(self._report)
            failure = ""
        except VeilError as error:
            failure = str(error)
        except Exception as error:  # noqa: BLE001 - raised in the thread that needs the result
            failure = (
                f"{self._what} could not be prepared ({type(error).__name__}). Start again, or"
                " continue without it."
            )
        finally:
            self.failure = failure
            self._done.set()

    def _report(self, message: str, done: int, total: int) -> None:
        for listener in tuple(self._listeners):
            listener(message, done, total)
