"""Linkage: which releases of a mixed stream belong to the same query."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from veil.core.types import Encoder, Ids
from veil.data.fetch import Report, silent
from veil.encoders.encoder import unit
from veil.text.attacks._centroids import centroids
from veil.text.attacks._ranks import ranks
from veil.text.attacks.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks.log import folded


class Linkage(EncoderAttack):
    """Tell which of many releases is the same query again.

    The variants of each text are cut into two halves, as if it had been asked twice with fresh
    noise. For each first half all second halves are ranked by the cosine of the mean vectors; the
    rank is that of its own (or of another text that reads the same).

    Notes
    -----
    A text with fewer than two variants cannot be linked: it comes after all others, and is no
    candidate; if all are such, nothing is guessed. With sticky variants (the same ones for the
    same query) two releases are known to be of one query because they are equal, but the second
    one adds nothing to what the first one tells about the query.
    """

    name: ClassVar[str] = "linkage"

    def rank(self, scene: Scene, encoder: Encoder, report: Report = silent) -> Outcome:
        """Attack with an open encoder."""
        two = [i for i, row in enumerate(scene.variants) if len(row) > 1]
        if not two:
            none = np.empty(0, dtype=np.int64)
            return Outcome(none, none, none, "release")
        halves = [(row[: len(row) // 2], row[len(row) // 2 :]) for row in scene.variants]
        firsts = centroids([halves[i][0] for i in two], encoder, report)
        seconds = centroids([halves[i][1] for i in two], encoder, report)
        first, second = _same([scene.originals[i] for i in two])
        found, level = ranks(firsts[first], unit(seconds.astype(np.float32)), second)
        whose = np.array(two, dtype=np.int64)[first]
        out = np.full(len(scene.variants), len(two) + 1, dtype=np.int64)
        np.minimum.at(out, whose, found)
        ties, right = np.ones((2, len(out)), dtype=np.int64)
        best = found == out[whose]
        ties[whose[best]] = level[best]
        right[:] = np.maximum(1, np.bincount(whose[best], minlength=len(out)))
        among = np.full(len(out), len(two), dtype=np.int64)
        # of m that are level, c right ones: about as if one of m / c were right, never less
        return Outcome(out, among, np.arange(len(out)), "release", ties=ties // right)


def _same(texts: Sequence[str]) -> tuple[Ids, Ids]:
    """Return all pairs of texts that read the same, each with itself among them."""
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        groups.setdefault(folded(text), []).append(number)
    pairs = [(a, b) for a, text in enumerate(texts) for b in groups[folded(text)]]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return first, second
