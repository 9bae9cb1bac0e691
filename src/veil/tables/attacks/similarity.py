"""Classes in which all confidential values mean nearly the same."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Ids
from veil.tables.attacks.attacker import Scene, Truth
from veil.tables.attacks.disclosure import Discloser, makeup
from veil.tables.column import Column
from veil.tables.hierarchy import Hierarchy
from veil.tables.labels import Bools


class Similarity(Discloser):
    """Learn what the values of a class have in common: homogeneity at a level of the hierarchy.

    References
    ----------
    Li, Li, Venkatasubramanian. t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 3. doi:10.1109/ICDE.2007.367856
    """

    name: ClassVar[str] = "similarity"
    level: Annotated[int, Field(ge=0, description="of the confidential column's hierarchy")] = 1

    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Generalise the values, and count those of each class."""
        hierarchy = truth.original.hierarchy(name)
        if self.level > hierarchy.height:
            raise InputError(
                f"The hierarchy of '{name}' has levels 0 to {hierarchy.height}; {self.level} is"
                " beyond."
            )
        column = scene.released.column(name)
        above = _above(column, hierarchy, self.level)
        made = makeup(scene, above[column.codes])
        found: Bools = (made.distinct == 1)[made.classes]
        return found


def _above(column: Column, hierarchy: Hierarchy, level: int) -> Ids:
    """Return the label of each category at a level, or itself if it is higher or not there."""
    place = {label: code for code, label in enumerate(hierarchy.labels[level])}
    made = []
    for number, label in enumerate(column.categories):
        height, code = hierarchy.found.get(label, (level + 1, -1))
        if height > level:
            made.append(place.get(label, len(place) + number))
            continue
        for step in range(height, level):
            code = int(hierarchy.parents[step][code])
        made.append(code)
    return np.array([*made, -1], dtype=np.int64)  # the code of a missing value, -1, takes the last
