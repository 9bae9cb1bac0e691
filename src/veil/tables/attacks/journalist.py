"""Who looks for anybody, with a list of the population."""

from typing import ClassVar

from numpy.random import Generator

from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.classes import Reading, Threshold, count_classes, risky, sizes
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.population import frequencies, table_of
from veil.tables.attacks.records import averaged


class Journalist(TableAttacker):
    """Look released rows up in a list of the population: 1/F, with F people who may be meant.

    F counts the people of the population whom the labels of a row cover. The risk is the average
    over rows, sum of f/F over classes / n; rows that were removed count 0. A class that nobody of
    the population is in is an error: the list is not one of the population.

    References
    ----------
    El Emam. Guide to the De-Identification of Personal Health Information. CRC Press 2013,
    chapter 16.
    """

    name: ClassVar[str] = "journalist"
    family: ClassVar[str] = "Re-identification"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows", "population"})
    threshold: Threshold = 0.2
    missing: Reading = "equal"

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Count the people who may be each row."""
        del rng
        people = frequencies(scene, table_of(scene, self.name), self.missing)
        risks = 1 / people
        per_record = truth.spread(risks, self.name)
        details = risky(risks, truth, self.threshold, self.name)
        alike = sizes(scene, "equal")
        total = float((people / alike).sum())  # F summed over classes
        arx = max(float(risks.mean()), count_classes(scene) / total)
        return averaged(per_record, None, {**details, "F": people, "arx": arx})
