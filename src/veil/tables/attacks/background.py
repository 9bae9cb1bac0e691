"""Classes in which little is left once some values are ruled out."""

from typing import Annotated, ClassVar

from pydantic import Field

from veil.tables.attacks.attacker import Scene, Truth
from veil.tables.attacks.disclosure import Discloser, makeup, released_values
from veil.tables.labels import Bools


class Background(Discloser):
    """Rule out some values of a class by what is known otherwise, and learn what is left.

    The share of rows whose class has one value once the `excluded` rarest values of the class are
    ruled out, that is at most 1 + `excluded` values.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam. l-Diversity: privacy beyond k-anonymity.
    TKDD 1(1), 2007, section 2. doi:10.1145/1217299.1217302
    """

    name: ClassVar[str] = "background"
    excluded: Annotated[int, Field(ge=0, description="values that are ruled out")] = 1

    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Count the values of each class."""
        del truth
        made = makeup(scene, released_values(scene, name))
        found: Bools = (made.distinct <= 1 + self.excluded)[made.classes]
        return found
