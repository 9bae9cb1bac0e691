"""Who is alone, in the release and in the population."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats
from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.classes import sizes
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.population import size_of
from veil.tables.attacks.records import averaged
from veil.tables.attacks.superpopulation import pitman, zayatz
from veil.tables.table import row_classes

_SMALL = 0.1  # sampling fraction up to which Pitman's model is taken


class Unique(TableAttacker):
    """Count the rows that no other row is like, on the quasi-identifiers.

    With the size N of the population (`population=`) it is estimated which share of the rows is
    alone in the population: by Pitman's model if the release has at most a tenth of it, else by
    Zayatz'; `details` has both. The estimated risk of a row that is alone in the release is the
    same for all of them.

    References
    ----------
    Hoshino. Applying Pitman's sampling formula to microdata disclosure risk assessment. Journal of
    Official Statistics 17(4), 2001.
    Zayatz. Estimation of the percent of unique population elements on a microdata file using the
    sample. Statistical Research Division Report 91/08, U.S. Bureau of the Census, 1991.
    """

    name: ClassVar[str] = "unique"
    family: ClassVar[str] = "Re-identification"

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Count, and estimate if the population is known."""
        del rng
        alone = (sizes(scene, "equal") == 1) & ~truth.starred(scene)
        share = float(alone.mean())
        details: dict[str, object] = {"sample": share}
        people = size_of(scene)
        chance = 1.0
        if people is not None and share > 0:
            estimates = {
                "pitman": self._pitman(scene, people),
                "zayatz": self._zayatz(scene, people),
            }
            details |= estimates
            small = len(alone) / people <= _SMALL
            estimate = estimates["pitman"] if small else estimates["zayatz"]
            if estimate is None:
                estimate = estimates["zayatz"] or 0.0
            chance = min(1.0, estimate / share)
        risks = np.where(alone, chance, 0.0)
        spread = risks if truth.rows is None else truth.spread(risks, self.name)
        return averaged(spread, None, details)

    def _pitman(self, scene: Scene, people: float) -> float | None:
        return pitman(_class_sizes(scene), people)

    def _zayatz(self, scene: Scene, people: float) -> float | None:
        return zayatz(_class_sizes(scene), people)


def _class_sizes(scene: Scene) -> Floats:
    codes = [scene.released.column(name).codes for name in scene.qi]
    return np.bincount(row_classes(codes, len(scene.released))).astype(np.float64)
