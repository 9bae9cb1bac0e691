"""Who is content to know a number roughly."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.records import averaged
from veil.tables.labels import Bools


class Interval(TableAttacker):
    """Take a released number for the true one, within a share of the standard deviation.

    A row counts if all its numbers are within `width` sample standard deviations (of the released
    column) of the released ones. The same by ranks (`rank` in details): within the released values
    that are at most `width` n ranks away. What is missing on either side is not known.

    References
    ----------
    Mateo-Sanz, Sebé, Domingo-Ferrer. Outlier protection in continuous microdata masking. Privacy
    in Statistical Databases 2004. doi:10.1007/978-3-540-25955-8_16
    """

    name: ClassVar[str] = "interval"
    family: ClassVar[str] = "Disclosure of values"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})
    width: Annotated[float, Field(gt=0, description="share of a standard deviation")] = 0.05

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Compare the numbers of each released row with the original ones."""
        del rng
        rows = truth.of(self.name)
        near = np.ones(len(rows), dtype=np.bool_)
        ranked = near.copy()
        names = [name for name in scene.qi if _numbers(scene, name)]
        if not names:
            raise InputError(
                "The attacker interval needs a quasi-identifier that is a number in both tables."
            )
        for name in names:
            original, released = scene.known[name][rows], scene.released[name]
            near &= _near(original, released, self.width)
            ranked &= _near_by_rank(original, released, self.width)
        details = {
            "columns": names,
            "rank": float(truth.spread(ranked.astype(np.float64), self.name).mean()),
        }
        return averaged(truth.spread(near.astype(np.float64), self.name), None, details)


def _numbers(scene: Scene, name: str) -> bool:
    return scene.known.column(name).numeric and scene.released.column(name).numeric


def _near(original: Floats, released: Floats, width: float) -> Bools:
    """Tell where numbers are within a share of the standard deviation; nan is not."""
    there = released[~np.isnan(released)]
    spread = float(there.std(ddof=1)) if len(there) > 1 else 0.0
    found: Bools = np.abs(original - released) <= width * spread
    return found


def _near_by_rank(original: Floats, released: Floats, width: float) -> Bools:
    """Tell where numbers are between released values that are some ranks away."""
    ordered = np.sort(released[~np.isnan(released)])
    if not len(ordered):
        return np.zeros(len(released), dtype=np.bool_)
    reach = int(width * len(ordered))
    first = np.searchsorted(ordered, released, "left")
    last = np.searchsorted(ordered, released, "right") - 1
    low = ordered[np.clip(first - reach, 0, len(ordered) - 1)]
    high = ordered[np.clip(last + reach, 0, len(ordered) - 1)]
    found: Bools = (original >= low) & (original <= high) & ~np.isnan(released)
    return found
