"""Cell suppression, primary and secondary."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field, model_validator
from typing_extensions import override

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
    """Return which cells of the full table to suppress."""
    hidden = table.sensitive.cells.ravel().copy()
    if hidden[-1]:
        raise InputError(
            "The grand total is sensitive, so nothing in this table can be published."
        )
    goals = list(table.goals())
    proofs = Proofs(goals)
    _enough(table, hidden, goals, proofs)
    _no_more(table, hidden, goals, proofs)
    if table.cells.contributions is not None:
        _against_contributors(table, hidden, goals, proofs)
    return hidden.reshape(table.lines.shape)


def _against_contributors(table: Flows, hidden: Mask, goals: list[Goal], proofs: Proofs) -> None:
    """Suppress more cells, until all goals are reached for contributors who know their amounts."""
    holdings, count = Holdings(table.cells), -1
    while count < int(hidden.sum()):
        count = int(hidden.sum())
        for knowledge in contributors(table, holdings, hidden):
            for number in proofs.unproved(knowledge, table.values).tolist():
                goal = _reachable(table, knowledge, goals[number])
                if goal is None or _allowed(table, proofs, knowledge, goal):
                    continue
                change = _change(table, table.reach(hidden, knowledge), goal, _NONE)
                if change is None:
                    change = table.cheapest(goal, hidden, knowledge)
                    hidden |= change != 0
                proofs.add(change)
    _require_proofs(table, hidden, goals, proofs)


_NONE = np.zeros(0, dtype=np.int64)


def _require_proofs(table: Flows, hidden: Mask, goals: list[Goal], proofs: Proofs) -> None:
    """Raise unless the changes move only suppressed cells, keep all sums, and reach all goals."""
    changes = np.stack(proofs.changes) if proofs.changes else np.zeros((0, len(hidden)))
    slack = SLACK * max(1.0, float(np.abs(changes).max(initial=0.0)))
    sound = not changes[:, ~hidden].any()
    sound &= bool((table.values + changes >= -slack).all())
    sound &= bool((np.abs(table.lines.matrix @ changes.T) <= slack).all())
    for knowledge in contributors(table, Holdings(table.cells), hidden):
        for number in proofs.unproved(knowledge, table.values).tolist():
            goal = _reachable(table, knowledge, goals[number])
            sound &= goal is None or _allowed(table, proofs, knowledge, goal)
    if not sound:
        raise InputError(
            "The audit finds that a contributor can infer a sensitive cell too closely, so nothing"
            " is published. Roll categories up, or ask for a smaller protection."
        )


def contributors(table: Flows, holdings: Holdings, hidden: Mask) -> Iterator[Knowledge]:
    """Yield the knowledge of the largest contributors to suppressed cells."""
    pools = [below[hidden[below]] for below, _ in known_sums(table.lines, hidden)]
    for unit in holdings.leaders(np.flatnonzero(hidden), pools):
        own, only_contributor = (
            np.zeros(len(table.values)),
            np.zeros(len(table.values), dtype=np.bool_),
        )
        cells, amounts, only = holdings.of(unit)
        own[cells], only_contributor[cells] = amounts / table.unit, only
        yield Knowledge(own, only_contributor)


def known_sums(lines: Lines, hidden: Mask) -> Iterator[tuple[Ids, Ids]]:
    """Yield the cells and the sum of each line with suppressed cells and a published sum.

    Every reader can work out the total of the suppressed cells in such a line.
    """
    matrix = lines.matrix.tocsr()
    for first, last in pairwise(matrix.indptr.tolist()):
        places, signs = matrix.indices[first:last].astype(np.int64), matrix.data[first:last]
        below, total = places[signs > 0], places[signs < 0]
        if hidden[below].any() and not hidden[total].any():
            yield below, total


def _reachable(table: Flows, knowledge: Knowledge, goal: Goal) -> Goal | None:
    """Return the goal for a contributor; None if it is the only one in the cell."""
    if knowledge.only[goal.cell]:
        return None
    if goal.up:
        return goal
    room = float(table.values[goal.cell] - knowledge.own[goal.cell])
    return replace(goal, amount=min(goal.amount, max(0.0, room)))


def _allowed(table: Flows, proofs: Proofs, knowledge: Knowledge, goal: Goal) -> bool:
    """Return whether a known change reaches a goal for a contributor."""
    need = goal.amount - SLACK * max(1.0, goal.amount)
    side = 1.0 if goal.up else -1.0
    return need <= 0 or any(
        change[goal.cell] * side >= need and knowledge.allows(change, table.values)
        for change in proofs.changes
    )


def _enough(table: Flows, hidden: Mask, goals: list[Goal], proofs: Proofs) -> None:
    """Suppress more cells, goal by goal, until all goals are reached."""
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
    """Unsuppress each cell that no goal needs, the largest first."""
    reach = table.reach(hidden)
    extra = np.flatnonzero(hidden & ~table.sensitive.cells.ravel())
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
    """Return a change of suppressed cells only that reaches a goal, for the full table, flat."""
    at = int(np.searchsorted(reach.free, goal.cell))
    change = reach.change(at, goal.amount, up=goal.up, fixed=fixed)
    if change is None:
        return None
    full = np.zeros(len(table.values))
    full[reach.free] = change
    return full


def judges(threshold: int | None, rule: str) -> list[Rule]:
    """Return the rules for sensitive cells: a threshold, another rule, or both."""
    rules = [RULES.parse(rule)] if rule else []
    if threshold is not None or not rules:
        rules.append(Threshold(threshold=USUAL if threshold is None else threshold))
    return rules


def judge(cells: Cells, threshold: int | None, protection: float | None, rule: str) -> Sensitive:
    """Return the cells that any rule calls sensitive, and the largest protection required."""
    verdicts = [judging.sensitive(cells) for judging in judges(threshold, rule)]
    sensitive = np.logical_or.reduce([verdict.cells for verdict in verdicts])
    protections = np.maximum.reduce([verdict.protection for verdict in verdicts])
    if protection is not None:
        protections = np.where(sensitive, protection, 0.0)
    return Sensitive(sensitive, protections)


USUAL = 5  # smallest count to publish
CONTRIBUTORS = (
    "This also holds, for cells of others, for each contributor who knows its own amounts and is"
    " the only one, or one of the two largest, in a suppressed cell or in the suppressed cells of"
    " a line; v is then at least its own amount. Colluding contributors are not covered."
)


class Suppress(CellMechanism):
    """Suppress sensitive cells, and enough others that readers cannot infer them closely.

    For each sensitive cell v, everything published must be consistent with every number in
    [max(0, v - protection), v + protection], or at least with both bounds. For each bound, the
    mechanism finds the cheapest change of cells that reaches it (a flow; a cell that is not yet
    suppressed costs ln(1 + v)) and suppresses those cells. It then republishes every cell that no
    bound needs. Sums are suppressed only if no set of cells works, and the grand total never is.
    The release is audited before it is returned.

    Notes
    -----
    Readers are assumed to know that cells are not negative. With sums, a reader may also be a
    contributor that knows its own amounts. Cells of others must be protected from it as well, and
    the suppressed cells of a line must not be sensitive in total. `threshold` counts the
    contributors of a sum; with a `rule`, both apply. Unless `zeros` may be suppressed, a reader
    who knows the mechanism also knows that no suppressed cell is zero.

    References
    ----------
    Fischetti and Salazar. Solving the cell suppression problem on tabular data with linear
    constraints. Management Science 47(7), 2001. doi:10.1287/mnsc.47.7.1008.9805
    """

    name: ClassVar[str] = "suppress"
    threshold: int | None = Field(
        default=None,
        ge=1,
        description="smallest count, or smallest number of contributors of a sum, to publish;"
        " 5 without a rule",
        json_schema_extra=PRIVATE,
    )
    protection: float | None = Field(
        default=None,
        gt=0,
        description="distance of a sensitive cell from its bounds; by default set by the rule",
    )
    zeros: bool = Field(default=False, description="whether empty cells may be suppressed")
    rule: str = Field(
        default="", description="rule for sums: p_percent(p=10), dominance(n=2, share=0.85)"
    )

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, parameters: Any) -> Any:  # noqa: ANN401 - before validation
        if (
            isinstance(parameters, Mapping)
            and not parameters.get("rule")
            and parameters.get("threshold") is None
        ):
            return {**parameters, "threshold": USUAL}
        return parameters

    def sensitive(self, cells: Cells) -> Sensitive:
        """Return the sensitive cells of the full table, and the protection that each needs."""
        return judge(cells, self.threshold, self.protection, self.rule)

    @override
    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        sensitive = self.sensitive(cells)
        hidden, protected = self._hidden(cells, sensitive)
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
        audited = audit(release)
        require_room(audited, cells, protected)
        return replace(release, guarantee=self.guarantee.with_caveat(self._limits(audited)))

    def _hidden(self, cells: Cells, sensitive: Sensitive) -> tuple[Mask, Sensitive]:
        """Return the suppressed cells, and all cells to protect.

        Every reader can work out the total of the suppressed cells in a line. If it is sensitive,
        another cell of the line must be suppressed.
        """
        while True:
            hidden = suppressed(Flows(cells, sensitive, self.zeros))
            more = self._more(cells, hidden) if cells.contributions is not None else {}
            if not more:
                return hidden, sensitive
            room = sensitive.protection.copy()
            room.ravel()[list(more)] = list(more.values())
            sensitive = Sensitive(sensitive.cells | (room > 0), room)

    def _more(self, cells: Cells, hidden: Mask) -> dict[int, float]:
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
                    "A published sum reveals too much about the suppressed cells in its line. Roll"
                    " categories up."
                )
            more[int(spare[np.argmin(values[spare])])] = need
        return more

    def _limits(self, audited: Audit) -> str:
        """Return what was audited, without widths, which would reveal sensitive cells."""
        claim = (
            "Audited: for readers of only this table who know that cells are not negative, each"
            " sensitive cell v may be as low as max(0, v - protection) and as high as"
            " v + protection."
        )
        zeros = (
            ""
            if self.zeros
            else "Readers who know the mechanism know that no suppressed cell is zero."
        )
        sums = "" if audited.whole else CONTRIBUTORS
        return " ".join(filter(None, (claim, sums, zeros, audited.caveat)))


def require_room(audited: Audit, cells: Cells, sensitive: Sensitive) -> None:
    """Raise unless each sensitive cell has its protection, for a reader of the release."""
    full, need = cells.margins, sensitive.protection
    short = SLACK * np.maximum(grain(full, whole=cells.whole), full)
    low = audited.low <= np.maximum(0.0, full - need) + short
    high = audited.high >= full + need - short
    failed = int((sensitive.cells & ~(low & high)).sum())
    if failed:
        raise InputError(
            f"The audit finds {failed:,} sensitive cells that a reader can infer too closely, so"
            " nothing is published. Roll categories up, or ask for a smaller protection."
        )
