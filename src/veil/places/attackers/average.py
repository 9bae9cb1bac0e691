"""The nearest address to the mean of several releases."""

from typing import ClassVar

from veil.core.types import Floats
from veil.places.attacker import Ranker, Scene
from veil.places.attackers.nearest import nearness
from veil.places.middle import middle


class Average(Ranker):
    r"""Order addresses by their distance to the mean of the m releases of a point.

    .. math:: d\left(\tfrac1m \sum_j z_j,\, y\right)

    It shows what fresh noise costs, without any knowledge of the method. On the sphere the mean is
    that of the unit vectors.
    """

    name: ClassVar[str] = "average"
    relative: ClassVar[float] = 1e-12

    def scores(self, scene: Scene, rows: slice) -> Floats:
        """Return distances from the mean, the nearest being the best."""
        return nearness(scene, middle(scene.releases[:, rows], scene.on.crs), self.name)
