"""Who knows two halves of a row, and whether they belong together."""

from typing import Annotated, ClassVar

from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Ids
from veil.tables.attacks.attacker import Scene, Truth
from veil.tables.attacks.trials import Hits, Trier, nearest_rows
from veil.tables.labels import Bools
from veil.tables.table import Table, unknown_column

_Halves = tuple[tuple[str, ...], tuple[str, ...]]


class Linkability(Trier):
    """Find the nearest released row by each half of what is known of a target, and compare.

    The quasi-identifiers in two halves, every other one each, or as `split` says ('age,sex|race').
    Distances are Gower's; of rows that are as near one is drawn. By chance two rows are the same
    once in as many times as there are rows.
    """

    name: ClassVar[str] = "linkability"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "control"})
    split: Annotated[str, Field(description="two halves of columns, as 'age,sex|race'")] = ""

    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        """Compare the nearest rows by both halves."""
        halves = self._halves(scene)
        for name in (*halves[0], *halves[1]):
            if name not in control or name not in truth.original:
                raise InputError(f"The control rows lack the column '{name}'.")
        targets, others = self.drawn(len(truth.original), rng), self.drawn(len(control), rng)
        main = _same(scene, truth.original, targets, halves, rng)
        strangers = _same(scene, control, others, halves, rng)
        n = len(scene.released)
        chance = rng.integers(n, size=len(targets)) == rng.integers(n, size=len(targets))
        return Hits(main, strangers, chance)

    def _halves(self, scene: Scene) -> _Halves:
        if not self.split:
            if len(scene.qi) < 2:
                raise InputError(
                    "The attacker linkability needs at least two quasi-identifiers, one for each"
                    " half."
                )
            return scene.qi[::2], scene.qi[1::2]
        first, bar, second = self.split.partition("|")
        halves = tuple(
            tuple(name.strip() for name in half.split(",") if name.strip())
            for half in (first, second)
        )
        for name in (*halves[0], *halves[1]):
            if name not in scene.released:
                raise unknown_column(name, scene.released.columns)
        if not bar or not all(halves) or set(halves[0]) & set(halves[1]):
            raise InputError("Two halves are told as 'age,sex|race', with no column in both.")
        return halves[0], halves[1]


def _same(scene: Scene, beside: Table, rows: Ids, halves: _Halves, rng: Generator) -> Bools:
    first, second = (nearest_rows(scene, beside, rows, half, rng) for half in halves)
    found: Bools = first == second
    return found
