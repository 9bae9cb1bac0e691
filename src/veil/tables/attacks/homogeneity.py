"""Classes in which everybody has the same confidential value."""

from typing import ClassVar

from veil.tables.attacks.attacker import Scene, Truth
from veil.tables.attacks.disclosure import Discloser, makeup, released_values
from veil.tables.labels import Bools


class Homogeneity(Discloser):
    """Learn the value of a class whose rows have one: the share of rows in such classes.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam. l-Diversity: privacy beyond k-anonymity.
    TKDD 1(1), 2007, section 2. doi:10.1145/1217299.1217302
    """

    name: ClassVar[str] = "homogeneity"

    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Count the values of each class."""
        del truth
        made = makeup(scene, released_values(scene, name))
        found: Bools = (made.distinct == 1)[made.classes]
        return found
