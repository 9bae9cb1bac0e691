"""Texts with a label each, and which of them teach a classifier and which are asked of it."""

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

LEAST = 2  # texts to ask, and texts to learn from


@brief("name", "texts")
@dataclass(frozen=True, eq=False)
class Labelled:
    """Texts, the name of each one's label, and the name of the data."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    name: str

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The labels that there are, in order."""
        return tuple(sorted(set(self.labels)))

    @cached_property
    def codes(self) -> Ids:
        """The position (n,) of each text's label among the classes."""
        at = {label: number for number, label in enumerate(self.classes)}
        return np.array([at[label] for label in self.labels], dtype=np.int64)

    def some(self, places: Sequence[int] | Ids) -> "Labelled":
        """Return the texts at these places."""
        chosen = [int(place) for place in places]
        texts, labels = (tuple(values[i] for i in chosen) for values in (self.texts, self.labels))
        return Labelled(texts, labels, self.name)

    def split(self, test: int, seed: int) -> tuple["Labelled", "Labelled"]:
        """Return texts to ask and texts to learn from, drawn once and for all by the seed.

        At most `test` are asked, and no more than half; all others may teach.
        """
        order = generator(seed).permutation(len(self))
        asked = min(test, len(self) // 2)
        return self.some(order[:asked]), self.some(order[asked:])

    @property
    def majority(self) -> str:
        """The commonest label; of several the first in order."""
        counts = Counter(self.labels)
        return min(counts, key=lambda label: (-counts[label], label))


def load(path: str | Path, text: str = "text", label: str = "label") -> Labelled:
    """Read texts and labels of a table (CSV, TSV, JSON lines, Parquet, also compressed).

    A text that comes again is read once, with its first label: else one that teaches could be
    asked, too.
    """
    place = Path(path)
    _, rows = read_table(place, (text, label))
    found: dict[str, str] = {}
    for row in rows:
        words, named = row.values
        where = row.where(place.name)
        if not named.strip():
            raise InputError(f"{where} has no label; repair it, or leave it out.")
        if words.strip():
            found.setdefault(check_text(words, where, MAX_CHARS), named.strip())
    kinds = len(set(found.values()))
    if len(found) < 2 * LEAST or kinds < LEAST:
        raise InputError(
            f"{place.name} must hold at least {2 * LEAST} texts and two labels. Got"
            f" {len(found)} texts and {kinds} labels instead."
        )
    return Labelled(tuple(found), tuple(found.values()), place.name.partition(".")[0])
