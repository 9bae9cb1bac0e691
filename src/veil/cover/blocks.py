"""Blocks: neighbouring groups of a table that are sent together."""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Ids


@dataclass(frozen=True, eq=False, slots=True)
class Blocks:
    """Which groups are sent for which address.

    `of` (L,) is the block of each group, and `starts` has the first group that each block sends.
    """

    of: Ids
    starts: tuple[int, ...]


def blocks(whole: int, groups: int) -> Blocks:
    """Spread the groups of a table evenly over as few blocks as send so many `groups` each.

    The blocks' own groups differ by one at most in number, so that none hides much less than
    another. A block with fewer than it sends also sends some of its neighbours', which are looked
    up at theirs; no two blocks send the same.

    >>> blocks(9, 4).of.tolist(), blocks(9, 4).starts
    ([0, 0, 0, 1, 1, 1, 2, 2, 2], (0, 3, 5))
    """
    own = np.array_split(np.arange(whole), -(-whole // groups))
    of = np.repeat(np.arange(len(own)), [len(each) for each in own])
    return Blocks(of, tuple(min(int(each[0]), whole - groups) for each in own))
