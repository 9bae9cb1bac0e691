"""Suppress until every sensitive cell has its room, and no cell more."""

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.counts.flows import Flows, Goal
from veil.tables.counts.proofs import Proofs
from veil.tables.counts.reach import Reach
from veil.tables.counts.release import Mask


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
