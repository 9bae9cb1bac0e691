"""Classes in which a value is far more common than elsewhere."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.types import Floats
from veil.tables.attacks.attacker import Scene, Truth
from veil.tables.attacks.disclosure import Discloser, makeup, released_values
from veil.tables.labels import Bools


class Skewness(Discloser):
    """Take a value of a class for likely that is common there, and rarer in the original.

    The share of rows whose value has more than half of their class, and more than `factor` times
    its share in the original.

    References
    ----------
    Li, Li, Venkatasubramanian. t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 3. doi:10.1109/ICDE.2007.367856
    """

    name: ClassVar[str] = "skewness"
    factor: Annotated[float, Field(gt=0, description="times the share in the original")] = 2.0

    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Compare the share of each row's value in its class with that in the original."""
        made = makeup(scene, released_values(scene, name))
        mine, size = made.counts[made.pair], made.sizes[made.classes]
        usual = _usual(scene, truth, name)[made.values]
        skewed: Bools = mine * len(truth.original) > self.factor * usual * size
        return skewed & (2 * mine > size)


def _usual(scene: Scene, truth: Truth, name: str) -> Floats:
    """Return how many originals each released label covers."""
    (cover,) = scene.covers(truth.original, [name], "equal")
    column = truth.original.column(name)
    codes = np.where(column.codes < 0, cover.values, column.codes)
    return cover.sums(np.bincount(codes, minlength=cover.values + 1).astype(np.float64))
