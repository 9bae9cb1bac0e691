"""Top coding."""

from typing import ClassVar

from veil.tables.methods._coding import Coding


class Top(Coding):
    """Replace the largest values by one label, or by their mean.

    x > value becomes ">value"; with `share` (0.05 unless a value is given) the value is the
    (1 - share) quantile, by linear interpolation.
    """

    name: ClassVar[str] = "top"
