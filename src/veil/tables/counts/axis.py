"""One axis of a table of cells: its categories, groups of them, and the total."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids

TOTAL = "*"
Group = tuple[str, tuple[int, ...]]  # a label, and the categories under it


@dataclass(frozen=True)
class Axis:
    """Nodes of an axis, in order: its categories, then nested groups of them, then the total.

    >>> Axis("fruit", ("apple", "pear", "plum"), (("pome", (0, 1)),)).labels
    ('apple', 'pear', 'plum', 'pome', '*')
    """

    name: str
    categories: tuple[str, ...]
    groups: tuple[Group, ...] = ()

    def __post_init__(self) -> None:
        held = [set(members) for _, members in self.groups]
        for i, one in enumerate(held):
            crossing = any(one & other and not (one <= other or other <= one) for other in held)
            twice = any(one == other for other in held[:i])
            if crossing or twice or len(one) < 2 or len(one) >= len(self.categories):
                raise InputError(
                    f"The groups of '{self.name}' must be nested, each of some of its categories."
                )

    @property
    def nodes(self) -> int:
        """How many places the full table has along it."""
        return len(self.categories) + len(self.groups) + 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of the nodes; the total has stars, as many as no category has."""
        inner = (*self.categories, *(label for label, _ in self.groups))
        star = TOTAL
        while star in inner:
            star += TOTAL
        return (*inner, star)

    @cached_property
    def members(self) -> tuple[Ids, ...]:
        """Per node, the categories under it."""
        leaves = [np.array([i]) for i in range(len(self.categories))]
        inner = [np.array(members, dtype=np.int64) for _, members in self.groups]
        return (*leaves, *inner, np.arange(len(self.categories)))

    @cached_property
    def sums(self) -> tuple[tuple[int, Ids], ...]:
        """Equations: a node, and the nodes right below it, which add up to it."""
        made = []
        count = len(self.categories)
        for node in range(count, self.nodes):
            left = set(self.members[node].tolist())
            below = []
            groups = sorted(range(count, self.nodes - 1), key=lambda n: -len(self.members[n]))
            for other in (*groups, *range(count)):
                held = set(self.members[other].tolist())
                if held <= left and other != node:
                    below.append(other)
                    left -= held
            made.append((node, np.array(sorted(below), dtype=np.int64)))
        return tuple(made)

    def total(self, values: Floats, at: int) -> Floats:
        """Add the sums of this axis, which is number `at` of an array."""
        front = np.moveaxis(values, at, 0)
        inner = [front[list(members)].sum(0)[None] for _, members in self.groups]
        return np.moveaxis(np.concatenate([front, *inner, front.sum(0)[None]]), 0, at)


def full_table(values: Floats, axes: Sequence[Axis]) -> Floats:
    """Return the table with all its sums; the last place of every axis is the total.

    >>> full_table(np.array([[1.0, 2.0]]), [Axis("a", ("x",)), Axis("b", ("y", "z"))]).tolist()
    [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    full = values
    for at, axis in enumerate(axes):
        full = axis.total(full, at)
    return full


def interior(axes: Sequence[Axis]) -> tuple[slice, ...]:
    """Return where the cells stand in the full table."""
    return tuple(slice(len(axis.categories)) for axis in axes)
