"""Something that is made when it is first asked for."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from veil.text.vectors.embeddings import Embeddings


@dataclass(slots=True)
class Once:
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
