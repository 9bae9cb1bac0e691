"""Which cells are sensitive: few records, or a few that gave most of a sum."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE, Component
from veil.core.errors import InputError
from veil.core.registry import Registry
from veil.core.types import Floats
from veil.tables.counts.cells import Cells
from veil.tables.counts.largest import largest
from veil.tables.counts.release import Mask


class Sensitive(NamedTuple):
    """Over the full table: which cells are sensitive, and how far each must be out of sight."""

    cells: Mask
    protection: Floats


class Rule(Component):
    """Says which cells of a table, and which sums, must not be published."""

    family: ClassVar[str] = "Rules"

    @abstractmethod
    def sensitive(self, cells: Cells) -> Sensitive:
        """Judge every cell of the full table; a zero is not sensitive."""


class Threshold(Rule):
    """Counts of fewer than `threshold` records are sensitive."""

    name: ClassVar[str] = "threshold"
    threshold: int = Field(
        default=5, ge=1, description="least count to publish", json_schema_extra=PRIVATE
    )

    def sensitive(self, cells: Cells) -> Sensitive:
        """Judge by 0 < v < threshold; what lies within `threshold` of it stays possible."""
        counts = require_counts(cells)
        few = (counts > 0) & (counts < self.threshold)
        return Sensitive(few, np.where(few, float(self.threshold), 0.0))


class Dominance(Rule):
    """Sums are sensitive of which the `n` largest gave more than a `share`.

    References
    ----------
    Hundepool et al. Statistical Disclosure Control. Wiley 2012, chapter 4.
    """

    name: ClassVar[str] = "dominance"
    n: int = Field(default=2, ge=1, description="how many of the largest are added")
    share: float = Field(default=0.85, gt=0, lt=1, description="of the sum, that they may have")

    def sensitive(self, cells: Cells) -> Sensitive:
        """x1 + ... + xn > share T; protected by (x1 + ... + xn) / share - T."""
        top = largest(cells, self.n).sum(0)
        held = (cells.margins > 0) & (top > self.share * cells.margins)
        return Sensitive(held, np.where(held, top / self.share - cells.margins, 0.0))


class PPercent(Rule):
    """Sums are sensitive that tell the second largest what the largest gave, to p percent.

    References
    ----------
    Hundepool et al. Statistical Disclosure Control. Wiley 2012, chapter 4.
    """

    name: ClassVar[str] = "p_percent"
    p: float = Field(default=10.0, gt=0, description="percent", json_schema_extra=PRIVATE)

    def sensitive(self, cells: Cells) -> Sensitive:
        """T - x1 - x2 < p/100 x1; protected by what is lacking."""
        first, second = largest(cells, 2)
        lacking = self.p / 100 * first - (cells.margins - first - second)
        held = (cells.margins > 0) & (lacking > 1e-12 * cells.margins)
        return Sensitive(held, np.where(held, lacking, 0.0))


RULES: Registry[Rule] = Registry(
    noun="rule for cells",
    group="veil.rules.cells",
    builtin={
        "dominance": "veil.tables.counts.rules:Dominance",
        "p_percent": "veil.tables.counts.rules:PPercent",
        "threshold": "veil.tables.counts.rules:Threshold",
    },
)


def require_counts(cells: Cells) -> Floats:
    """Return the full table if its cells are counts."""
    if cells.contributions is not None:
        raise InputError(
            "A threshold is for counts, and these cells are sums; use rule='p_percent(p=10)' or"
            " rule='dominance(n=2, share=0.85)'."
        )
    if not cells.whole:
        raise InputError("A threshold is for counts, and these cells are not whole numbers.")
    return cells.margins
