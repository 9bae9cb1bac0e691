"""Who looks for a person that is known to be in the release."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.classes import Reading, Threshold, risky, sizes
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.records import averaged


class Prosecutor(TableAttacker):
    """Look for a target that is known to be in the release: 1/f, with f rows alike.

    The risk is the average over all original rows, that is classes / rows; rows that were removed,
    or of which nothing but stars is left, count 0. With ``missing='any'`` a missing value matches
    every value, on both sides.

    References
    ----------
    El Emam. Guide to the De-Identification of Personal Health Information. CRC Press 2013,
    chapter 16.
    """

    name: ClassVar[str] = "prosecutor"
    family: ClassVar[str] = "Re-identification"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})
    threshold: Threshold = 0.2
    missing: Reading = "equal"

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Count the rows that are alike."""
        del rng
        alike = sizes(scene, self.missing)
        risks = 1 / alike
        if self.missing == "equal":
            risks = np.where(truth.starred(scene), 0.0, risks)
        details = risky(risks, truth, self.threshold, self.name)
        per_record = truth.spread(risks, self.name)
        return averaged(per_record, 1 / len(truth.original), {**details, "f": alike})
