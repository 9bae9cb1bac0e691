"""How much of what has been released: the counts of a release, without a text."""

from bisect import bisect
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate

from veil.core.types import Variants


@dataclass
class Tally:
    """What has been released so far."""

    texts: int = 0
    words: int = 0
    each: Counter[int] = field(default_factory=Counter)  # texts by their protected words
    bare: int = 0  # texts that left as they are: no cost covers them
    kept: int = 0
    clear: int = 0  # variants that equal their text
    empty: int = 0  # texts for which nothing can be sent
    redacted: Counter[str] = field(default_factory=Counter)  # personal data by its kind
    seeded: bool = False

    def spread(self) -> tuple[int, float, int]:
        """Return the protected words of the smallest, the median and the largest text.

        Texts that left as they are do not count: they cost more than any number, and not 0.
        """
        counts = sorted(self.each)
        if not counts:
            return 0, 0.0, 0
        ends = list(accumulate(self.each[count] for count in counts))
        low, high = (counts[bisect(ends, (ends[-1] - more) // 2)] for more in (1, 0))
        return counts[0], (low + high) / 2, counts[-1]

    def add(self, variants: Variants) -> None:
        """Count a batch."""
        self.texts += len(variants)
        self.words += sum(variants.protected)
        pairs = zip(variants.protected, variants.kept, strict=True)
        covered = [words for words, kept in pairs if words or not kept]
        self.each.update(covered)
        self.bare += len(variants) - len(covered)
        self.kept += sum(map(len, variants.kept))
        self.empty += sum(not row for row in variants)
        self.redacted.update(kind for kinds in variants.redacted for kind in kinds)
        self.seeded = variants.seeded
