"""Changes of a table that a reader cannot tell from the truth, and what each of them proves."""

from collections.abc import Sequence

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.counts.flows import Goal
from veil.tables.counts.release import Mask
from veil.tables.counts.solver import SLACK


class Proofs:
    """Changes that are known, each with the cells it moves and the goals it reaches."""

    def __init__(self, goals: Sequence[Goal]) -> None:
        self._cells = np.array([goal.cell for goal in goals], dtype=np.int64)
        self._sides = np.array([1.0 if goal.up else -1.0 for goal in goals])
        needs = np.array([goal.amount for goal in goals])
        self._needs = needs - SLACK * np.maximum(1.0, needs)
        self._moved: list[set[int]] = []
        self._reaches: list[Mask] = []
        self.reached: Mask = np.zeros(len(goals), dtype=np.bool_)  # by some change

    def add(self, change: Floats) -> None:
        """Keep a change of the full table, flat."""
        reaches = change[self._cells] * self._sides >= self._needs
        self._moved.append(set(np.flatnonzero(change).tolist()))
        self._reaches.append(reaches)
        self.reached |= reaches

    def without(self, cell: int) -> Ids:
        """Return the goals that no change reaches which leaves a cell alone."""
        reached = np.zeros(len(self._cells), dtype=np.bool_)
        for moved, reaches in zip(self._moved, self._reaches, strict=True):
            if cell not in moved:
                reached |= reaches
        return np.flatnonzero(~reached)

    def drop(self, cell: int) -> None:
        """Forget the changes that move a cell, which is published."""
        kept = [i for i, moved in enumerate(self._moved) if cell not in moved]
        self._moved = [self._moved[i] for i in kept]
        self._reaches = [self._reaches[i] for i in kept]
