"""Who finds a sentence that holds for one person alone."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.types import Ids
from veil.tables.attacks.attacker import Scene, Truth
from veil.tables.attacks.predicates import Predicate, Reader, Speaker
from veil.tables.attacks.trials import Hits, Trier, shared_columns
from veil.tables.labels import Bools
from veil.tables.table import Table

_TRIES = 20  # predicates that are tried for each that is wanted
_ROWS = 3_000_000_000  # and rows that are read for all of them


class SinglingOut(Trier):
    """Say of a released row what holds for it alone, hoping that it does so for one original.

    A predicate takes `columns` random columns of a random released row: a number is at least as
    large if it is above the median, else at most; a category is equal. Half of the predicates, if
    there are as many, are of one column: its extremes, and values that occur once. All hold for
    one released row. One hits if it holds for exactly one original row, or one control row. By
    chance anything is said.
    """

    name: ClassVar[str] = "singling_out"
    columns: Annotated[int, Field(ge=1, description="of a predicate")] = 3

    def hits(self, scene: Scene, truth: Truth, control: Table, rng: Generator) -> Hits:
        """Find predicates, and count the rows they hold for."""
        names = shared_columns(scene, truth, control)
        speaker = Speaker(scene, names)
        found = self._found(scene, names, speaker, len(truth.original), rng)
        chance = [speaker.blind(self._some(names, rng), rng) for _ in found]
        original, strangers = (Reader(scene, table, names) for table in (truth.original, control))
        return Hits(_alone(original, found), _alone(strangers, found), _alone(original, chance))

    def _found(
        self, scene: Scene, names: tuple[str, ...], speaker: Speaker, rows: int, rng: Generator
    ) -> list[Predicate]:
        """Return predicates that hold for one released row, all different."""
        wanted = min(self.attacks, rows)
        reader = Reader(scene, scene.released, names)
        simple = speaker.simple()
        kept = {simple[at] for at in rng.permutation(len(simple))[: (wanted + 1) // 2]}
        tries = min(_TRIES * wanted, max(wanted, _ROWS // (len(scene.released) * self.columns)))
        for _ in range(tries):
            if len(kept) >= wanted:
                break
            row = int(rng.integers(len(scene.released)))
            said = speaker.of_row(row, self._some(names, rng))
            if said and said not in kept and reader.count(said) == 1:
                kept.add(said)
        return sorted(kept)

    def _some(self, names: tuple[str, ...], rng: Generator) -> list[int]:
        """Draw columns."""
        drawn: Ids = rng.permutation(len(names))[: self.columns]
        return sorted(drawn.tolist())


def _alone(reader: Reader, predicates: list[Predicate]) -> Bools:
    """Tell which predicates hold for exactly one row."""
    return np.array([bool(one) and reader.count(one) == 1 for one in predicates], dtype=np.bool_)
