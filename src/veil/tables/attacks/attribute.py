"""Who guesses a confidential value of a known person."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids
from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.background import Background
from veil.tables.attacks.compatible import Compatible
from veil.tables.attacks.disclosure import ColumnName, Discloser, confidential
from veil.tables.attacks.homogeneity import Homogeneity
from veil.tables.attacks.nearest import Nearest
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.patterns import Patterns, filled
from veil.tables.attacks.records import estimated
from veil.tables.attacks.similarity import Similarity
from veil.tables.attacks.skewness import Skewness
from veil.tables.column import Column

_AT_ONCE = 2**22  # counts of values by pattern that are held


class Attribute(TableAttacker):
    r"""Guess the confidential value that most of the rows have that may be the target's.

    These are the rows whose labels cover what is known of the target, or the nearest ones where
    there is none, as in perturbed or synthetic data. Of values that are as common each is as
    likely. With the success s, and the baseline b of who always says the most common value of the
    original:

    .. math:: \text{risk} = \max\left(0, \frac{s - b}{1 - b}\right)

    Every original row is a target, removed ones too. A value is guessed exactly: cut numbers into
    intervals, or use `inference`. Of several confidential columns the one with the largest risk
    counts.
    """

    name: ClassVar[str] = "attribute"
    family: ClassVar[str] = "Attribute disclosure"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "confidential"})
    column: ColumnName = ""

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Guess each column, and take the one with the largest risk."""
        del rng
        names = confidential(scene, truth, self.column)
        found = {name: self._of(scene, truth, name) for name in names}
        worst = max(found, key=lambda name: found[name].risk)
        risks = {name: attack.risk for name, attack in found.items()}
        attack = found[worst]
        details = {**attack.details, "column": worst, "columns": risks}
        details |= _classes(scene, truth, worst)
        return Attack(
            attack.risk, attack.per_record, attack.baseline, None, attack.low, attack.high, details
        )

    def _of(self, scene: Scene, truth: Truth, name: str) -> Attack:
        values = truth.original.column(name)
        targets = filled(values)
        labels = same_labels(scene.released.column(name), values)[targets]
        hits = _guessed(scene, filled(scene.released.column(name)), labels)
        baseline = float(np.bincount(targets).max()) / len(targets)
        success = estimated(hits)
        risk, low, high = (
            max(0.0, (share - baseline) / (1 - baseline)) if baseline < 1 else 0.0
            for share in (float(success), success.low, success.high)
        )
        return Attack(risk, hits, baseline, None, low, high, {"success": float(success)})


def same_labels(released: Column, original: Column) -> Ids:
    """Return for each original value (values + 1,) the code of the released one it equals, or -1.

    What is missing equals what is missing.
    """
    if released.numeric and original.numeric:
        at = np.searchsorted(released.numbers, original.numbers)
        there = np.append(released.numbers, np.nan)[at] == original.numbers
        made = np.where(there, at, -1)
    else:
        place = {label: code for code, label in enumerate(released.categories)}
        made = np.array([place.get(label, -1) for label in original.categories], dtype=np.int64)
    return np.append(made, len(released.categories))


def _guessed(scene: Scene, values: Ids, labels: Ids) -> Floats:
    """Return how likely each target (n,) is guessed right, by released values (m,).

    `labels` (n,) are the right answers; they are looked at after the guess.
    """
    released, known = scene.patterns
    pool = _Pool(scene)
    top, ties = np.zeros(len(known)), np.zeros(len(known))
    own = np.zeros(len(labels))
    count = int(values.max()) + 1
    for first in range(0, count, step := max(1, _AT_ONCE // len(released))):
        last = min(count, first + step)
        sums = pool.sums(_counted(released.at, values, len(released), first, last))
        most = sums.max(axis=1)
        ties = np.where(most > top, 0.0, ties)
        top = np.maximum(most, top)
        ties += (sums == top[:, None]).sum(axis=1)
        mine = np.flatnonzero((labels >= first) & (labels < last))
        own[mine] = sums[known.at[mine], labels[mine] - first]
    right = (own > 0) & (own == top[known.at])
    return np.where(right, 1 / np.maximum(ties[known.at], 1.0), 0.0)


def _counted(at: Ids, values: Ids, patterns: int, first: int, last: int) -> Floats:
    """Count values from `first` up to `last` by pattern (patterns, last - first)."""
    held = (values >= first) & (values < last)
    keys = at[held] * (last - first) + values[held] - first
    counts = np.bincount(keys, minlength=patterns * (last - first))
    return counts.reshape(patterns, last - first).astype(np.float64)


class _Pool:
    """The released rows that may be each target's: those that cover it, else the nearest."""

    def __init__(self, scene: Scene) -> None:
        released, known = scene.patterns
        covers = scene.covers(scene.known, scene.qi, "star")
        self._compatible = Compatible(covers, released, known)
        held = self._compatible.over_released(released.sizes[:, None])[:, 0]
        self._lost = np.flatnonzero(held == 0)
        self._nearest = None
        if len(self._lost):
            aparts = scene.aparts(scene.known, scene.qi, "euclidean")
            asked = Patterns(known.codes[self._lost], known.sizes[self._lost], self._lost)
            self._nearest = Nearest(aparts, asked, released, released=True)

    def sums(self, weights: Floats) -> Floats:
        """Add up weights (released patterns, v) over the rows of each known pattern."""
        made = self._compatible.over_released(weights)
        if self._nearest is not None:
            made[self._lost] = self._nearest.sums(np.arange(len(self._lost)), weights)
        return made


def _classes(scene: Scene, truth: Truth, name: str) -> dict[str, object]:
    """Return what classes alone give away of a column, where they can be told."""
    if truth.rows is None:
        return {}
    tellers: list[Discloser] = [Homogeneity(), Skewness(), Background()]
    if name in truth.original.hierarchies and truth.original.hierarchies[name].height >= 1:
        tellers.append(Similarity())
    return {
        one.name: float(
            truth.spread(one.disclosed(scene, truth, name).astype(np.float64), one.name).mean()
        )
        for one in tellers
    }
