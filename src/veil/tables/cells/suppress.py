"""Cell suppression, primary and secondary."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field, model_validator

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.cells.audit import Audit, audit
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import Bounds, CellMechanism, CellRelease, Mask
from veil.tables.cells.rules import RULES, Holdings, Rule, Sensitive, Threshold
from veil.tables.cells.solver import (
    SLACK,
    Flows,
    Goal,
    Knowledge,
    Lines,
    Proofs,
    Reach,
    grain,
)


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
    if table.cells.contributions is not None:
        _against_contributors(table, hidden, goals, proofs)
    return hidden.reshape(table.lines.shape)


def _against_contributors(table: Flows, hidden: Mask, goals: list[Goal], proofs: Proofs) -> None:
    """Suppress more cells, until all goals are reached for those who know what they gave."""
    holdings, count = Holdings(table.cells), -1
    while count < int(hidden.sum()):
        count = int(hidden.sum())
        for known in contributors(table, holdings, hidden):
            for number in proofs.unproved(known, table.values).tolist():
                goal = _reachable(table, known, goals[number])
                if goal is None or _allowed(table, proofs, known, goal):
                    continue
                change = _change(table, table.reach(hidden, known), goal, _NONE)
                if change is None:
                    change = table.cheapest(goal, hidden, known)
                    hidden |= change != 0
                proofs.add(change)
    _require_proofs(table, hidden, goals, proofs)


_NONE = np.zeros(0, dtype=np.int64)


def _require_proofs(table: Flows, hidden: Mask, goals: list[Goal], proofs: Proofs) -> None:
    """Raise unless changes of suppressed cells alone keep all sums, and reach all goals."""
    changes = np.stack(proofs.changes) if proofs.changes else np.zeros((0, len(hidden)))
    slack = SLACK * max(1.0, float(np.abs(changes).max(initial=0.0)))
    sound = not changes[:, ~hidden].any()
    sound &= bool((table.values + changes >= -slack).all())
    sound &= bool((np.abs(table.lines.matrix @ changes.T) <= slack).all())
    for known in contributors(table, Holdings(table.cells), hidden):
        for number in proofs.unproved(known, table.values).tolist():
            goal = _reachable(table, known, goals[number])
            sound &= goal is None or _allowed(table, proofs, known, goal)
    if not sound:
        raise InputError(
            "The audit finds that a contributor learns a sensitive cell too closely; nothing is"
            " published. Roll categories up, or ask for a smaller protection."
        )


def contributors(table: Flows, holdings: Holdings, hidden: Mask) -> Iterator[Knowledge]:
    """Yield what the largest contributors know of what is suppressed."""
    pools = [below[hidden[below]] for below, _ in known_sums(table.lines, hidden)]
    for unit in holdings.leaders(np.flatnonzero(hidden), pools):
        own, alone = np.zeros(len(table.values)), np.zeros(len(table.values), dtype=np.bool_)
        cells, amounts, only = holdings.of(unit)
        own[cells], alone[cells] = amounts / table.one, only
        yield Knowledge(own, alone)


def known_sums(lines: Lines, hidden: Mask) -> Iterator[tuple[Ids, Ids]]:
    """Yield the cells and the sum of each line with suppressed cells whose sum is published.

    What is suppressed of such a line adds up to a number that every reader can work out.
    """
    matrix = lines.matrix.tocsr()
    for first, last in pairwise(matrix.indptr.tolist()):
        places, signs = matrix.indices[first:last].astype(np.int64), matrix.data[first:last]
        below, total = places[signs > 0], places[signs < 0]
        if hidden[below].any() and not hidden[total].any():
            yield below, total


def _reachable(table: Flows, known: Knowledge, goal: Goal) -> Goal | None:
    """Return a goal as far as a contributor must believe in it; None of a cell all its own."""
    if known.alone[goal.cell]:
        return None
    if goal.up:
        return goal
    room = float(table.values[goal.cell] - known.own[goal.cell])
    return replace(goal, amount=min(goal.amount, max(0.0, room)))


def _allowed(table: Flows, proofs: Proofs, known: Knowledge, goal: Goal) -> bool:
    """Tell whether a change that is known reaches a goal for a contributor."""
    need = goal.amount - SLACK * max(1.0, goal.amount)
    side = 1.0 if goal.up else -1.0
    return need <= 0 or any(
        change[goal.cell] * side >= need and known.allows(change, table.values)
        for change in proofs.changes
    )


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


def judges(threshold: int | None, rule: str) -> list[Rule]:
    """Return the rules by which cells are judged: a threshold, another one, or both."""
    named = [RULES.parse(rule)] if rule else []
    if threshold is not None or not named:
        named.append(Threshold(threshold=USUAL if threshold is None else threshold))
    return named


def judge(cells: Cells, threshold: int | None, protection: float | None, rule: str) -> Sensitive:
    """Return the cells that some rule calls sensitive, and the most room that one asks for."""
    found = [one.sensitive(cells) for one in judges(threshold, rule)]
    held = np.logical_or.reduce([one.cells for one in found])
    room = np.maximum.reduce([one.protection for one in found])
    if protection is not None:
        room = np.where(held, protection, 0.0)
    return Sensitive(held, room)


USUAL = 5  # least count to publish
CONTRIBUTORS = (
    "So it is, for cells of others, for each contributor who knows its own amounts and is the only"
    " one, or one of the two largest, in a suppressed cell or in what is suppressed of a line; v"
    " is then at least what it gave. Contributors who share what they know are not covered."
)


class Suppress(CellMechanism):
    """Leave sensitive cells out, and others, so that every sensitive one could be far off.

    For each sensitive cell v a reader of all that is published must believe every number of
    [max(0, v - protection), v + protection] possible, at the least both ends. For each of them
    and each end the cheapest change of cells that goes there is found (a flow; a cell that is not
    suppressed yet costs ln(1 + v)), and its cells are suppressed; then every cell is published
    again without which all ends are still reached. Sums are taken only where no set of cells
    works, the grand total never. The release is audited before it is returned.

    Notes
    -----
    A reader is taken to know that cells are not negative. A reader of sums may also be a
    contributor, who knows its own amounts: cells of others must have their room for it, too, and
    what is suppressed of a line must not be sensitive as a whole. `threshold` counts the
    contributors of a sum; next to a `rule` both count. Unless `zeros` are suppressed, who
    knows the method also knows that no suppressed cell is zero.

    References
    ----------
    Fischetti and Salazar. Solving the cell suppression problem on tabular data with linear
    constraints. Management Science 47(7), 2001. doi:10.1287/mnsc.47.7.1008.9805
    """

    name: ClassVar[str] = "suppress"
    threshold: int | None = Field(
        default=None,
        ge=1,
        description="least count to publish, of a sum: of contributors; 5 without a rule",
        json_schema_extra=PRIVATE,
    )
    protection: float | None = Field(
        default=None,
        gt=0,
        description="room each sensitive cell needs, both ways; else what its rule says",
    )
    zeros: bool = Field(default=False, description="whether empty cells may be suppressed")
    rule: str = Field(
        default="", description="rule for sums: p_percent(p=10), dominance(n=2, share=0.85)"
    )

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, given: Any) -> Any:  # noqa: ANN401 - whatever was handed in
        """Fill in the threshold, so that the spec of a release says by what cells were judged."""
        if isinstance(given, Mapping) and not given.get("rule") and given.get("threshold") is None:
            return {**given, "threshold": USUAL}
        return given

    def sensitive(self, cells: Cells) -> Sensitive:
        """Return the sensitive cells of the full table, and the room each needs."""
        return judge(cells, self.threshold, self.protection, self.rule)

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:  # noqa: ARG002 - no draw
        """Suppress, audit, and return; or raise."""
        sensitive = self.sensitive(cells)
        hidden, wanted = self._hidden(cells, sensitive)
        full = cells.margins
        release = CellRelease(
            np.where(hidden, np.nan, full),
            cells.axes,
            sensitive.cells,
            Bounds(np.where(hidden, 0.0, full), np.where(hidden, np.inf, full)),
            str(self),
            self.guarantee,
            whole=cells.whole,
            maps=cells.maps,
        )
        found = audit(release)
        require_room(found, cells, wanted)
        return replace(release, guarantee=self.guarantee.with_caveat(self._told(found)))

    def _hidden(self, cells: Cells, wanted: Sensitive) -> tuple[Mask, Sensitive]:
        """Return what is suppressed, and which cells need how much room.

        What is suppressed of a line adds up to a number that everybody can work out. Where that is
        sensitive itself one more cell of the line must be out of sight.
        """
        while True:
            hidden = suppressed(Flows(cells, wanted, self.zeros))
            more = self._more(cells, hidden) if cells.contributions is not None else {}
            if not more:
                return hidden, wanted
            room = wanted.protection.copy()
            room.ravel()[list(more)] = list(more.values())
            wanted = Sensitive(wanted.cells | (room > 0), room)

    def _more(self, cells: Cells, hidden: Mask) -> dict[int, float]:
        """Return cells to suppress as well for lines that tell too much, and the room of each."""
        rules, holdings = judges(self.threshold, self.rule), Holdings(cells)
        values, flat = cells.margins.ravel(), hidden.ravel()
        more: dict[int, float] = {}
        for below, _ in known_sums(Lines(cells.axes), flat):
            gifts, _ = holdings.pool(below[flat[below]])
            need = max(rule.lacking(gifts) for rule in rules)
            if need <= 0 or any(cell in more for cell in below.tolist()):
                continue
            spare = below[~flat[below] & (values[below] > 0)]
            if not len(spare):
                raise InputError(
                    "A sum that is published tells too much of what is suppressed in its line;"
                    " roll categories up."
                )
            more[int(spare[np.argmin(values[spare])])] = need
        return more

    def _told(self, found: Audit) -> str:
        """Say what was audited; how wide intervals are would tell which cells are sensitive."""
        told = (
            "Audited: for readers of this table alone who know that cells are not negative, each"
            " sensitive cell v may be as low as max(0, v - protection) and as high as"
            " v + protection."
        )
        zeros = "" if self.zeros else "Who knows the method knows that no suppressed cell is zero."
        sums = "" if found.whole else CONTRIBUTORS
        return " ".join(filter(None, (told, sums, zeros, found.caveat)))


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
