"""Linkage by distance."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.attacks.attacker import Scene
from veil.tables.attacks.linker import Linker, Links
from veil.tables.attacks.nearest import Nearest
from veil.tables.attacks.patterns import Patterns


class Distance(Linker):
    r"""Link each released row to the nearest original, on the whole file.

    .. math:: d(x', x)^2 = \sum_j d_j(x'_j, x_j)^2

    with numbers in sample standard deviations of the original, categories 0 or 1, or the level of
    the lowest common ancestor by the height of the hierarchy, and a star at half the largest
    distance. Of c originals that are as near, each is as likely.

    A subset of the rows would break the groups of microaggregation, and overstate.

    References
    ----------
    Pagliuca, Seri. Some results of individual ranking method on the system of enterprise accounts
    annual survey. Esprit SDC Project, MI-3/D2, 1999.
    """

    name: ClassVar[str] = "distance"

    def links(self, scene: Scene) -> Links:
        """Find the nearest."""
        released, known = scene.patterns
        aparts = scene.aparts(scene.known, scene.qi, "euclidean")
        return Links(_Near(Nearest(aparts, released, known, released=False), released, known))


@dataclass(frozen=True, eq=False)
class _Near:
    nearest: Nearest
    released: Patterns
    known: Patterns

    def chance(self, released: Ids, originals: Ids) -> Floats:
        asked = self.released.at[released]
        held = self.nearest.holds(asked, self.known.at[originals])
        which, place = np.unique(asked[held], return_inverse=True)
        ties = self.nearest.sums(which, self.known.sizes[:, None])[:, 0]
        made = np.zeros(len(asked))
        made[held] = 1 / ties[place]
        return made
