"""Who links as many as possible, and does not mind to be wrong."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.classes import Reading, sizes
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.population import frequencies, table_of
from veil.tables.attacks.records import averaged
from veil.tables.attacks.weighted import expected_risk


class Marketer(TableAttacker):
    r"""Link all rows to a population, and be right for as many as possible: the average of 1/F.

    Without a table of the population, but with sampling weights, F is estimated by the sum of
    weights of a class, and the risk of a row is E[1/F | f] (Benedetti and Franconi). The average
    counts alone; `largest` stands beside it.

    References
    ----------
    Dankar, El Emam. A method for evaluating marketer re-identification risk. EDBT/ICDT Workshops
    2010. doi:10.1145/1754239.1754271
    Franconi, Polettini. Individual risk estimation in mu-Argus: a review. Privacy in Statistical
    Databases 2004, Eq. (5)-(9). doi:10.1007/978-3-540-25955-8_20
    """

    name: ClassVar[str] = "marketer"
    family: ClassVar[str] = "Re-identification"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows", "population"})
    missing: Reading = "equal"

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Count the people who may be each row, or estimate how many they are."""
        del rng
        alike = sizes(scene, self.missing)
        weights = scene.released.weights
        if scene.population is None and weights is not None:
            people = sizes(scene, self.missing, weights)
            risks = expected_risk(alike, people)
        else:
            people = self._counted(scene)
            risks = 1 / people
        per_record = truth.spread(risks, self.name)
        details = {
            "f": alike,
            "F": people,
            "expected": float(per_record.sum()),
            "released": float(risks.mean()),
        }
        return averaged(per_record, None, details)

    def _counted(self, scene: Scene) -> Floats:
        if scene.population is None:
            raise InputError(
                "The attacker marketer needs a table of the population, by population=, or a"
                " column of sampling weights, by weight=."
            )
        return np.maximum(frequencies(scene, table_of(scene, self.name), self.missing), 1.0)
