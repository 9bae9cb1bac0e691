"""Things that take long, made once: when first asked for, or in the background."""

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
    """Open word vectors when they are first asked for, once, whoever asks."""

    make: Callable[[], Embeddings]
    _made: Embeddings | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> Embeddings:
        """Return them."""
        with self._lock:
            if self._made is None:
                self._made = self.make()
            return self._made


T = TypeVar("T")


class Preparation(Generic[T]):
    """Runs `make` once, in whichever thread comes first; a failure is kept, and told.

    Attributes
    ----------
    made
        What was made, or None.
    failure
        Why nothing was made, in a sentence; empty if nothing went wrong.
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
        """Whether it has been tried, with or without success."""
        return self._done.is_set()

    def start(self) -> None:
        """Begin in the background, unless it was begun; the program may end meanwhile."""
        if self._claimed.acquire(blocking=False):
            threading.Thread(target=self._run, name=BACKGROUND, daemon=True).start()

    def wait(self, report: Report = no_progress) -> None:
        """Make it here and now, or wait for whoever does."""
        self._listeners.append(report)
        try:
            if self._claimed.acquire(blocking=False):
                self._run()
            self._done.wait()
        finally:
            self._listeners.remove(report)

    def _run(self) -> None:
        failure = f"{self._what} could not be prepared: it was interrupted; start again."
        try:
            self.made = self._make(self._report)
            failure = ""
        except VeilError as error:
            failure = str(error)
        except Exception as error:  # noqa: BLE001 - told to whoever asks for what is made
            failure = (
                f"{self._what} could not be prepared ({type(error).__name__}); do without it, or"
                " start again."
            )
        finally:
            self.failure = failure
            self._done.set()

    def _report(self, message: str, done: int, total: int) -> None:
        for listener in tuple(self._listeners):
            listener(message, done, total)
