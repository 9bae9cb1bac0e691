"""Find somebody's profile by a few items that she rated."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.types import Floats, Ids
from veil.ratings.attacker import Scene
from veil.ratings.attacks._linker import Linker
from veil.ratings.attacks._seen import Seen
from veil.ratings.ratings import Ratings

_DAY, _FORGETS = 86_400.0, 30.0


class Scoreboard(Linker):
    r"""Score each released profile by known items that it shares, the rarer the more.

    .. math:: \sum_{i} \frac{e^{-|r_i - r_{vi}|/\rho} + e^{-|t_i - t_{vi}|/30\,\text{days}}}
       {\ln \max(|U_i|, 2)}

    over the known items i that the profile v has; the second term where there are times. Profiles
    with equal scores share the success: of k equal records each is hit once in k. The attacker
    claims a target where the best score stands out: (best - second)/sd >= `phi`.

    References
    ----------
    Narayanan, Shmatikov. Robust De-anonymization of Large Sparse Datasets. IEEE S&P 2008,
    Section 5 (Scoreboard-RH). doi:10.1109/SP.2008.33
    """

    name: ClassVar[str] = "scoreboard"
    rho: Annotated[
        float, Field(gt=0, description="how fast a difference of values counts less")
    ] = 1.5

    def ready(self, seen: Seen, scene: Scene) -> "Board":
        """Count the raters of each released item."""
        del scene
        counts = np.maximum(seen.data.per_item, 2)
        return Board(seen.data, 1 / np.log(counts), self.rho)


@dataclass(frozen=True, eq=False, repr=False)
class Board:
    """Released ratings, and the weight (m',) of each item."""

    data: Ratings
    weights: Floats
    rho: float

    def __call__(self, items: Ids, values: Floats, times: Floats) -> Floats:
        """Add up what each profile shares."""
        data, total = self.data, np.zeros(self.data.n)
        for item, value, time in zip(items.tolist(), values, times, strict=True):
            if item < 0:
                continue
            rows = data.order[data.item_starts[item] : data.item_starts[item + 1]]
            alike = np.exp(-np.abs(value - data.value[rows]) / self.rho)
            if data.time is not None and np.isfinite(time):
                alike += np.exp(-np.abs(time - data.time[rows]) / (_FORGETS * _DAY))
            total[data.user[rows]] += self.weights[item] * alike
        return total
