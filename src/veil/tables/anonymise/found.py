"""What a search of the lattice found."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.anonymise.cube import Node
from veil.tables.anonymise.judge import Judge
from veil.tables.anonymise.tags import by_height, minimal
from veil.tables.criteria.criterion import Bools


@dataclass(frozen=True, eq=False)
class Found:
    """The answer of a lattice search.

    Attributes
    ----------
    columns
        Of which a node has the levels, in this order.
    best
        The satisfying node that loses least; of equal ones that of the smallest sum of levels,
        then the first by levels.
    loss, suppressed
        What it loses, and how many rows it suppresses.
    satisfying
        Which nodes satisfy, by levels.
    judged
        How many nodes were counted.
    how
        How the nodes were searched.
    """

    columns: tuple[str, ...]
    best: Node
    loss: float
    suppressed: int
    satisfying: Bools
    judged: int
    how: str

    @property
    def minimal(self) -> tuple[Node, ...]:
        """The satisfying nodes with no satisfying node strictly below them."""
        return tuple(by_height(np.argwhere(minimal(self.satisfying))))


def allowed(suppression: float, rows: int) -> int:
    """Return how many rows may be suppressed: the share as it is written, times the rows."""
    return math.floor(Fraction(repr(suppression)) * rows)


def best(judge: Judge, satisfying: Bools) -> Node:
    """Return the satisfying node that loses least.

    Without suppression only minimal nodes can be best, as all losses grow with levels. With it
    they need not: a node above may suppress fewer rows. But no node above one loses less than that
    one would with no row suppressed, which leaves few nodes to be judged.
    """
    if judge.limit == 0:
        nodes = by_height(np.argwhere(minimal(satisfying)))
        return _least(judge, nodes)
    open_nodes = satisfying.copy()
    bound = np.zeros(satisfying.shape)
    lowest = math.inf
    for node, verdict in judge.verdicts.items():
        _raise_bound(bound, node, verdict.bound)
        if satisfying[node]:
            open_nodes[node] = False
            lowest = min(lowest, verdict.loss)
    while True:
        limit = lowest * (1 + judge.cost.slack) if math.isfinite(lowest) else math.inf
        hopes = np.where(open_nodes & (bound <= limit), bound, math.inf)
        flat = int(hopes.argmin())
        if not math.isfinite(hopes.flat[flat]):
            break
        node = tuple(int(level) for level in np.unravel_index(flat, satisfying.shape))
        verdict = judge.verdict(node)
        open_nodes[node] = False
        lowest = min(lowest, verdict.loss)
        _raise_bound(bound, node, verdict.bound)
    return _least(judge, [node for node in judge.verdicts if satisfying[node]])


def _raise_bound(bound: Floats, node: Node, least: float) -> None:
    above = tuple(slice(level, None) for level in node)
    np.maximum(bound[above], least, out=bound[above])


def _least(judge: Judge, nodes: list[Node]) -> Node:
    lowest = min(judge.verdict(node).loss for node in nodes)
    limit = lowest + abs(lowest) * judge.cost.slack
    level = [node for node in nodes if judge.verdict(node).loss <= limit]
    return min(level, key=lambda node: (sum(node), node))


def unsatisfied(judge: Judge, rows: int) -> InputError:
    """Say that no node satisfies, and what would do."""
    least = min(verdict.failing for _, verdict in judge.every())
    if least >= rows:
        return InputError(
            "No generalisation satisfies what is asked, however many rows are suppressed; lower k"
            " or l, or raise t or c."
        )
    share = math.ceil(10_000 * least / rows) / 10_000
    return InputError(
        f"No generalisation satisfies what is asked with at most {judge.limit:,} rows suppressed;"
        f" the fewest are {least:,}, with suppression={share:g}. Raise it, or lower k or l."
    )
