"""The best of the attackers that link records."""

from typing import ClassVar

from numpy.random import Generator

from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.distance import Distance
from veil.tables.attacks.exact import Exact
from veil.tables.attacks.fellegi_sunter import FellegiSunter
from veil.tables.attacks.outcome import Attack


class Linkage(TableAttacker):
    """Link records by labels, by distance and by weights; the largest risk of the three counts.

    Which attacker is best depends on the method, and nobody knows beforehand whom a release meets.
    """

    name: ClassVar[str] = "linkage"
    family: ClassVar[str] = "Record linkage"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Run all three."""
        truth.of(self.name)
        attackers = (Exact(), Distance(), FellegiSunter())
        found = {one.name: one.attack(scene, truth, rng) for one in attackers}
        best = max(found, key=lambda name: found[name].risk)
        risks = {name: attack.risk for name, attack in found.items()}
        won = found[best]
        largest = max(float(str(attack.details["largest"])) for attack in found.values())
        details = {**won.details, "attacker": best, "risks": risks, "largest": largest}
        return Attack(won.risk, won.per_record, won.baseline, None, won.low, won.high, details)
