"""Linkage by what released labels cover."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.attacks.attacker import Scene
from veil.tables.attacks.compatible import Compatible
from veil.tables.attacks.linker import Linker, Links
from veil.tables.attacks.patterns import Patterns


class Exact(Linker):
    """Take the released rows whose labels cover all that is known of a target.

    A label covers the value that it equals, the leaves below it in the hierarchy, the numbers of
    its interval, the members of its set; a star, or a missing value, covers everything. Of c such
    rows each is as likely: 1/c if the target's own is one of them, else 0.
    """

    name: ClassVar[str] = "exact"

    def links(self, scene: Scene) -> Links:
        """Count the rows that may be each target's."""
        released, known = scene.patterns
        compatible = Compatible(scene.covers(scene.known, scene.qi, "star"), released, known)
        counts = compatible.over_released(released.sizes[:, None])[:, 0]
        return Links(_Covered(compatible, released, known, counts))


@dataclass(frozen=True, eq=False)
class _Covered:
    compatible: Compatible
    released: Patterns
    known: Patterns
    counts: Floats  # (known patterns,)

    def chance(self, released: Ids, originals: Ids) -> Floats:
        mine = self.known.at[originals]
        held = self.compatible.holds(self.released.at[released], mine)
        return np.where(held, 1 / np.maximum(self.counts[mine], 1.0), 0.0)
