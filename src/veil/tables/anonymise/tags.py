"""What is known of the nodes of a lattice without judging them."""

import numpy as np

from veil.core.types import Ids
from veil.tables.anonymise.cube import Node
from veil.tables.criteria.criterion import Bools


class Tags:
    """Which nodes satisfy, where all above one that does do, and none below one that fails."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.known: Bools = np.zeros(shape, dtype=np.bool_)
        self.satisfying: Bools = np.zeros(shape, dtype=np.bool_)

    def mark(self, node: Node, *, satisfies: bool) -> None:
        """Tag a node and all that follows from it."""
        if satisfies:
            above = tuple(slice(level, None) for level in node)
            self.known[above] = self.satisfying[above] = True
        else:
            self.known[tuple(slice(level + 1) for level in node)] = True


def by_height(nodes: Ids) -> list[Node]:
    """Order nodes (m, columns) by their sum of levels, then by their levels."""
    order = np.lexsort((*nodes.T[::-1], nodes.sum(axis=1)))
    return [tuple(node) for node in nodes[order].tolist()]


def minimal(satisfying: Bools) -> Bools:
    """Return the satisfying nodes with no satisfying node strictly below them."""
    reached = satisfying.copy()
    for axis in range(reached.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    made = satisfying.copy()
    for axis in range(made.ndim):
        upper = np.moveaxis(made, axis, 0)
        upper[1:] &= ~np.moveaxis(reached, axis, 0)[:-1]
    return made
