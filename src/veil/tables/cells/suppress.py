"""Cell suppression, primary and secondary."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.cells.audit import Audit, audit
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import Bounds, CellMethod, CellRelease, Mask
from veil.tables.cells.rules import RULES, Sensitive, Threshold
from veil.tables.cells.solver import SLACK, Flows, Goal, Proofs, Reach, grain


def suppressed(table: Flows) -> Mask:
    """Return which cells of the full table are not published."""
    hidden = table.wanted.cells.ravel().copy()
    if hidden[-1]:
        raise InputError(
            "The grand total is sensitive itself; nothing of such a table can be published."
        )
    goals = list(table.goals())
    proofs = Proofs(goals)
    _enough(table, hidden, goals, proofs)
    _no_more(table, hidden, goals, proofs)
    return hidden.reshape(table.lines.shape)


def _enough(table: Flows, hidden: Mask, goals: list[Goal], proofs: Proofs) -> None:
    """Suppress more cells, goal by goal, until all are reached."""
    reach, none = table.reach(hidden), np.zeros(0, dtype=np.int64)
    for number, goal in enumerate(goals):
        if proofs.reached[number]:
            continue
        change = _change(table, reach, goal, none)
        if change is None:
            change = table.cheapest(goal, hidden)
            if not hidden[change != 0].all():
                hidden |= change != 0
                reach = table.reach(hidden)
        proofs.add(change)


def _no_more(table: Flows, hidden: Mask, goals: list[Goal], proofs: Proofs) -> None:
    """Publish again each cell without which all goals are still reached, the largest first."""
    reach = table.reach(hidden)
    extra = np.flatnonzero(hidden & ~table.wanted.cells.ravel())
    order = np.lexsort((-table.values[extra], table.inner[extra]))  # sums before cells
    shown: list[int] = []
    for cell in extra[order].tolist():
        fixed = np.searchsorted(reach.free, [*shown, cell])
        for number in proofs.without(cell).tolist():
            change = _change(table, reach, goals[number], fixed)
            if change is None:
                break
            proofs.add(change)
        else:
            shown.append(cell)
            proofs.drop(cell)
    hidden[shown] = False


def _change(table: Flows, reach: Reach, goal: Goal, fixed: Ids) -> Floats | None:
    """Return a change of the full table, flat, of suppressed cells alone that reaches a goal."""
    at = int(np.searchsorted(reach.free, goal.cell))
    change = reach.change(at, goal.amount, up=goal.up, fixed=fixed)
    if change is None:
        return None
    full = np.zeros(len(table.values))
    full[reach.free] = change
    return full


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
