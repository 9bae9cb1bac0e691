"""Bottom coding."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from veil.core.types import Floats
from veil.tables.methods._coding import Coding


class Bottom(Coding):
    """Replace the smallest values by one label, or by their mean.

    x < value becomes "<value"; with `share` (0.05 unless a value is given) the value is the share
    quantile, by linear interpolation.
    """

    name: ClassVar[str] = "bottom"
    sign: ClassVar[str] = "<"
    beyond: ClassVar[Callable[[Floats, float], Any]] = np.less

    def at(self, share: float) -> float:
        """Return the quantile below which a share of the values lies."""
        return share
