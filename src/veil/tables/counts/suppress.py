"""Suppression of cells: the sensitive ones, and others so that sums do not give them away."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.tables.counts.audit import Audit, audit
from veil.tables.counts.cells import Cells
from veil.tables.counts.flows import Flows
from veil.tables.counts.method import CellMethod
from veil.tables.counts.release import Bounds, CellRelease
from veil.tables.counts.rules import RULES, Sensitive, Threshold
from veil.tables.counts.secondary import suppressed
from veil.tables.counts.solver import SLACK, grain


class Suppress(CellMethod):
    """Leave sensitive cells out, and others, so that every sensitive one could be far off.

    For each sensitive cell v a reader of all that is published must believe every number of
    [max(0, v - protection), v + protection] possible, at the least both ends. For each of them
    and each end the cheapest change of cells that goes there is found (a flow; a cell that is not
    suppressed yet costs ln(1 + v)), and its cells are suppressed; then every cell is published
    again without which all ends are still reached. Sums are taken only where no set of cells
    works, the grand total never. The release is audited before it is returned.

    Notes
    -----
    A reader is taken to know that cells are not negative. Unless `zeros` are suppressed, who
    knows the method also knows that no suppressed cell is zero.

    References
    ----------
    Fischetti and Salazar. Solving the cell suppression problem on tabular data with linear
    constraints. Management Science 47(7), 2001. doi:10.1287/mnsc.47.7.1008.9805
    """

    name: ClassVar[str] = "suppress"
    threshold: int = Field(
        default=5, ge=1, description="least count to publish", json_schema_extra=PRIVATE
    )
    protection: float | None = Field(
        default=None,
        gt=0,
        description="room each sensitive cell needs, both ways; else what its rule says",
    )
    zeros: bool = Field(default=False, description="whether empty cells may be suppressed")
    rule: str = Field(
        default="", description="another rule: p_percent(p=10), dominance(n=2, share=0.85)"
    )

    def sensitive(self, cells: Cells) -> Sensitive:
        """Return the sensitive cells of the full table, and the room each needs."""
        rule = RULES.parse(self.rule) if self.rule else Threshold(threshold=self.threshold)
        wanted = rule.sensitive(cells)
        if self.protection is None:
            return wanted
        return Sensitive(wanted.cells, np.where(wanted.cells, self.protection, 0.0))

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:  # noqa: ARG002 - no draw
        """Suppress, audit, and return; or raise."""
        wanted = self.sensitive(cells)
        hidden = suppressed(Flows(cells, wanted, self.zeros))
        full = cells.margins
        release = CellRelease(
            np.where(hidden, np.nan, full),
            cells.axes,
            wanted.cells,
            Bounds(np.where(hidden, 0.0, full), np.where(hidden, np.inf, full)),
            str(self),
            self.guarantee,
            whole=cells.whole,
            maps=cells.maps,
        )
        found = audit(release)
        require_room(found, cells, wanted)
        return replace(release, guarantee=self.guarantee.with_caveat(self._told(found)))

    def _told(self, found: Audit) -> str:
        """Say what was audited; how wide intervals are would tell which cells are sensitive."""
        told = (
            "Audited: for readers of this table alone who know that cells are not negative, each"
            " sensitive cell v may be as low as max(0, v - protection) and as high as"
            " v + protection."
        )
        zeros = "" if self.zeros else "Who knows the method knows that no suppressed cell is zero."
        return " ".join(filter(None, (told, zeros, found.caveat)))


def require_room(found: Audit, cells: Cells, wanted: Sensitive) -> None:
    """Raise unless each sensitive cell may be anywhere it must, for a reader of the release."""
    full, need = cells.margins, wanted.protection
    short = SLACK * np.maximum(grain(full, whole=cells.whole), full)
    low = found.low <= np.maximum(0.0, full - need) + short
    high = found.high >= full + need - short
    failed = int((wanted.cells & ~(low & high)).sum())
    if failed:
        raise InputError(
            f"The audit finds {failed:,} sensitive cells that a reader learns too closely; nothing"
            " is published. Roll categories up, or ask for a smaller protection."
        )
