"""Who knows all of a row but one value."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.tables.attacks.attacker import Scene, Truth
from veil.tables.attacks.disclosure import ColumnName, confidential
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.trials import Hits, Trier, nearest_rows, shared_columns
from veil.tables.column import Column
from veil.tables.labels import Bools
from veil.tables.table import Table


class Inference(Trier):
    """Guess a confidential value from the nearest released row by all other columns.

    Distances are Gower's; of rows that are as near one is drawn. A guess hits if it is equal, a
    number if it is within `tolerance` of the true one. By chance the value of any released row is
    guessed. Of several confidential columns the one with the largest risk counts.
    """

    name: ClassVar[str] = "inference"
    needs: ClassVar[frozenset[str]] = frozenset({"confidential", "control"})
    column: ColumnName = ""
    tolerance: Annotated[float, Field(ge=0, description="share by which a number may be off")] = (
        0.05
    )

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Attack every confidential column."""
        names = confidential(scene, truth, self.column)
        found = {name: self._on(scene, truth, name, rng) for name in names}
        worst = max(found, key=lambda name: found[name].risk)
        attack = found[worst]
        columns = {name: one.risk for name, one in found.items()}
        details = {**attack.details, "column": worst, "columns": columns}
        return Attack(
            attack.risk,
            attack.per_record,
            attack.baseline,
            attack.control,
            attack.low,
            attack.high,
            details,
        )

    def _on(self, scene: Scene, truth: Truth, name: str, rng: Generator) -> Attack:
        inner = self.model_copy(update={"column": name})
        return super(Inference, inner).attack(scene, truth, rng)

    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        """Guess the values of some targets."""
        names = shared_columns(scene, truth, control)
        known = tuple(name for name in names if name != self.column)
        if not known:
            raise InputError("The attacker inference needs a column besides the confidential one.")
        released = scene.released.column(self.column)
        targets, others = self.drawn(len(truth.original), rng), self.drawn(len(control), rng)
        made = []
        for table, rows in ((truth.original, targets), (control, others)):
            guesses = nearest_rows(scene, table, rows, known, rng)
            true = table.column(self.column).take(rows)
            made.append(equal_values(released.take(guesses), true, self.tolerance))
        blind = released.take(rng.integers(len(released), size=len(targets)))
        true = truth.original.column(self.column).take(targets)
        return Hits(made[0], made[1], equal_values(blind, true, self.tolerance))


def equal_values(guesses: Column, true: Column, tolerance: float) -> Bools:
    """Tell which guesses are equal, numbers within a share of the true one; missing never is."""
    known = ~(guesses.missing | true.missing)
    if guesses.numeric and true.numeric:
        with np.errstate(invalid="ignore"):
            close: Bools = np.abs(guesses.values - true.values) <= tolerance * np.abs(true.values)
        return known & close
    pairs = zip(guesses.texts, true.texts, strict=True)
    return known & np.array([guess == value for guess, value in pairs], dtype=np.bool_)
