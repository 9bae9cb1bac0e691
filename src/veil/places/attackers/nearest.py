"""Reverse geocoding: the nearest address is the first guess."""

from typing import ClassVar

from veil.core.types import Floats
from veil.places.attacker import Ranker, Scene
from veil.places.projection import pairs


class Nearest(Ranker):
    r"""Order addresses by their distance to the released point.

    .. math:: d(z, y)

    It needs no knowledge of the method. Of several releases it looks at the first.
    """

    name: ClassVar[str] = "nearest"
    relative: ClassVar[float] = 1e-12

    def scores(self, scene: Scene, rows: slice) -> Floats:
        """Return distances, the nearest being the best."""
        return nearness(scene, scene.releases[0, rows], self.name)


def nearness(scene: Scene, places: Floats, by: str) -> Floats:
    """Return minus the metres (b, m) from places (b, 2) to the addresses of the register."""
    on = scene.on
    away = pairs(on, on.embed(places), on.embed(scene.listed(by).xy))
    away *= -1
    return away
