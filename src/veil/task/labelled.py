"""Labelled texts, and their split into texts to train a classifier and texts to test it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.core.rng import generator
from veil.core.types import Ids
from veil.corpus.tokens import MAX_CHARS, check_text
from veil.data.rows import read_table

LEAST = 2  # minimum number of test texts, of training texts, and of labels


@brief("name", "texts")
@dataclass(frozen=True, eq=False)
class Labelled:
    """Texts, the label of each, and the name of the data."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    name: str

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(sorted(set(self.labels)))

    @cached_property
    def codes(self) -> Ids:
        """Index (n,) of each text's label in `classes`."""
        codes = {label: number for number, label in enumerate(self.classes)}
        return np.array([codes[label] for label in self.labels], dtype=np.int64)

    def some(self, indices: Sequence[int] | Ids) -> "Labelled":
        """Return the texts at these indices."""
        rows = [int(index) for index in indices]
        texts, labels = (tuple(values[i] for i in rows) for values in (self.texts, self.labels))
        return Labelled(texts, labels, self.name)

    def split(self, test: int, seed: int) -> tuple["Labelled", "Labelled"]:
        """Return test texts and training texts, a random split that depends only on the seed.

        At most `test` texts, and at most half of all, are test texts. The others are for training.
        """
        order = generator(seed).permutation(len(self))
        count = min(test, len(self) // 2)
        return self.some(order[:count]), self.some(order[count:])

    @property
    def majority(self) -> str:
        """The most common label; if several tie, the first in sorted order."""
        counts = Counter(self.labels)
        return min(counts, key=lambda label: (-counts[label], label))


def load(path: str | Path, text: str = "text", label: str = "label") -> Labelled:
    """Read the texts and labels of a table (CSV, TSV, JSON lines or Parquet, also compressed).

    A repeated text is read once, with its first label, so that no test text is also a training
    text.
    """
    file = Path(path)
    _, rows = read_table(file, (text, label))
    labels: dict[str, str] = {}
    for row in rows:
        words, value = row.values
        where = row.where(file.name)
        if not value.strip():
            raise InputError(f"{where} has no label. Add a label or remove the row.")
        if words.strip():
            labels.setdefault(check_text(words, where, MAX_CHARS), value.strip())
    classes = len(set(labels.values()))
    if len(labels) < 2 * LEAST or classes < LEAST:
        raise InputError(
            f"{file.name} must contain at least {2 * LEAST} texts and two labels. Got"
            f" {len(labels)} texts and {classes} labels instead."
        )
    return Labelled(tuple(labels), tuple(labels.values()), file.name.partition(".")[0])
