"""Attacks on some rows of the data, on rows that never were in it, and by chance."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.patterns import Grid, filled
from veil.tables.attacks.residual import residual
from veil.tables.labels import Bools
from veil.tables.table import Table

Attacks = Annotated[int, Field(ge=1, description="how many, at most")]
Confidence = Annotated[float, Field(gt=0, lt=1, description="of the interval")]
WEAK = "The attack is no better than chance: it is too weak, and nothing is claimed."


class Hits(NamedTuple):
    """Which attacks hit: on the data, on the control rows, and by chance."""

    main: Bools
    control: Bools
    chance: Bools


class Trier(TableAttacker):
    """Attacks rows of the data and control rows alike; what it achieves more is the risk.

    The risk is (main - control) / (1 - control), see `veil.tables.residual`; `per_record` has the
    attacks on the data, 1 where they hit. If the attack is no better than chance, `succeeded` in
    the details is False: it is too weak, and says nothing of the release.

    References
    ----------
    Giomi, Boenisch, Wehmeyer, Tasnádi. A unified framework for quantifying privacy risk in
    synthetic data. PoPETs 2023(2). doi:10.56553/popets-2023-0055
    """

    family: ClassVar[str] = "With control rows"
    needs: ClassVar[frozenset[str]] = frozenset({"control"})
    attacks: Attacks = 500
    confidence: Confidence = 0.95

    @abstractmethod
    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        """Make the attacks."""

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Compare the shares of hits."""
        control = scene.control
        if control is None or not len(control):
            raise InputError(f"The attacker {self.name} needs control rows; hand them in.")
        return self.judged(self.hits(scene, truth, control, rng))

    def judged(self, hits: Hits, more: Mapping[str, object] | None = None) -> Attack:
        """Return the risk of what hit."""
        if not len(hits.main):
            details = {"succeeded": False, "attacks": 0, "caveat": WEAK, **(more or {})}
            return Attack(0.0, np.zeros(0), 0.0, 0.0, 0.0, 1.0, details)
        found = residual(
            (len(hits.main), int(hits.main.sum())),
            (len(hits.chance), int(hits.chance.sum())),
            (len(hits.control), int(hits.control.sum())),
            self.confidence,
        )
        details = {
            "succeeded": found.succeeded,
            "attacks": len(hits.main),
            "main": found.main_rate,
            "caveat": "" if found.succeeded else WEAK,
            **(more or {}),
        }
        return Attack(
            found.risk,
            hits.main.astype(np.float64),
            found.baseline_rate,
            found.control_rate,
            found.low,
            found.high,
            details,
        )

    def drawn(self, n: int, rng: Generator) -> Ids:
        """Draw the rows that are attacked."""
        return np.sort(rng.permutation(n)[: min(self.attacks, n)])


def shared_columns(scene: Scene, truth: Truth, control: Table) -> tuple[str, ...]:
    """Return the columns of the release that original and control rows have, too."""
    names = tuple(
        name
        for name in scene.released.columns
        if name in truth.original and truth.original.roles[name] not in ("identifier", "weight")
    )
    for name in names:
        if name not in control:
            raise InputError(f"The control rows lack the column '{name}'.")
    return names


def nearest_rows(
    scene: Scene, beside: Table, rows: Ids, names: tuple[str, ...], rng: Generator
) -> Ids:
    """Return for each of some rows the nearest released row, by Gower's distance.

    Of several that are as near one is drawn.
    """
    aparts = scene.aparts(beside, names, "gower")
    across = np.stack([filled(scene.released.column(name)) for name in names], axis=1)
    asked = np.stack([filled(beside.column(name))[rows] for name in names], axis=1)
    grid = Grid(aparts, across, np.add, released=True)
    made = np.empty(len(rows), dtype=np.int64)
    for part in grid.blocks(len(rows)):
        made[part] = _any_least(grid.block(asked[part]), rng)
    return made


def _any_least(distances: Floats, rng: Generator) -> Ids:
    """Return a row of each column (rows, b) that has the least distance, any of them alike."""
    near = (distances <= distances.min(axis=0) * (1 + 1e-10) + 1e-12).T
    counts = near.sum(axis=1)
    which = (rng.random(len(counts)) * counts).astype(np.int64)
    _, rows = np.nonzero(near)
    picked: Ids = rows[np.cumsum(counts) - counts + which]
    return picked
