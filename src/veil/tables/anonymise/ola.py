"""Optimal lattice anonymisation: nodes are tagged from few that are judged."""

from typing import ClassVar

import numpy as np

from veil.tables.anonymise.cube import Node
from veil.tables.anonymise.judge import Judge
from veil.tables.anonymise.lattice import LatticeMethod
from veil.tables.anonymise.tags import Tags, by_height


class OLA(LatticeMethod):
    """Generalise whole columns to the best levels, found by binary searches in the lattice.

    Of a node that satisfies all above do, and of one that fails none below does, so that a path
    from the bottom to the top of what is not known yet is settled by a binary search.

    Notes
    -----
    The paper halves sublattices; here paths are halved, as in Flash (Kohlmayer et al. 2012), which
    finds the same nodes. The paper looks for the optimum among the k-minimal nodes; with
    suppression it need not be there, and is looked for among all that satisfy.

    References
    ----------
    El Emam et al. A globally optimal k-anonymity method for the de-identification of health data.
    JAMIA 16(5), 2009, Figures 3 and 4. doi:10.1197/jamia.M3144
    """

    name: ClassVar[str] = "ola"

    def tagged(self, judge: Judge, tags: Tags) -> str:
        """Settle path by path, from the bottom."""
        for start in by_height(np.argwhere(~tags.known)):
            if tags.known[start]:
                continue
            path = _path(start, tags)
            low, high = 0, len(path)
            while low < high:
                middle = (low + high) // 2
                satisfies = judge.satisfies(path[middle])
                tags.mark(path[middle], satisfies=satisfies)
                low, high = (low, middle) if satisfies else (middle + 1, high)
        return "paths through the lattice were searched by halves, and other nodes tagged"


def _path(start: Node, tags: Tags) -> list[Node]:
    """Return nodes that nothing is known of, each above the last, as far as there are any."""
    path = [start]
    while True:
        above = next((node for node in _above(path[-1], tags) if not tags.known[node]), None)
        if above is None:
            return path
        path.append(above)


def _above(node: Node, tags: Tags) -> list[Node]:
    """Return the nodes one level above."""
    return [
        (*node[:column], level + 1, *node[column + 1 :])
        for column, level in enumerate(node)
        if level + 1 < tags.known.shape[column]
    ]
