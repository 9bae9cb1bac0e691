"""Words and vectors as they come out of a file, one by one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from veil.core.types import Singles
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.vocabulary import normal

Progress = Callable[[int], None]  # told the number of bytes read so far


def single(numbers: list[Any]) -> Singles:
    """Cast to float32; what is too large becomes infinite, which is refused with its place."""
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=np.float32)


class Gathered:
    """Words and vectors as they come in; the vectors are kept in blocks, not as objects."""

    def __init__(self) -> None:
        self.words: dict[str, None] = {}
        self._blocks: list[Singles] = []
        self._rows: list[Singles] = []

    def add(self, word: str, vector: Singles) -> None:
        """Take a word in, unless it came before in the same spelling."""
        word = normal(word)
        if word in self.words:
            return
        self.words[word] = None
        self._rows.append(vector)
        if len(self._rows) == 8192:
            self._blocks.append(np.stack(self._rows))
            self._rows = []

    def embeddings(self, name: str) -> Embeddings:
        """Return what was taken in."""
        rest = [np.stack(self._rows)] if self._rows else []
        return Embeddings(tuple(self.words), np.concatenate(self._blocks + rest), name)
