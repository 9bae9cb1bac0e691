"""What a set of ratings is like, in numbers that name nobody."""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Ids
from veil.ratings.ratings import Ratings, Scale

Spread = tuple[int, float, int]


@dataclass(frozen=True)
class Description:
    """Sizes; the share of pairs that are rated; ratings per user and item: least, median, most."""

    ratings: int
    users: int
    items: int
    filled: float
    scale: Scale
    declared: bool
    mean: float
    levels: int
    per_user: Spread
    per_item: Spread
    timed: bool


def describe(data: Ratings) -> Description:
    """Count ratings, users and items."""
    return Description(
        ratings=len(data),
        users=data.n,
        items=data.m,
        filled=len(data) / (data.n * data.m),
        scale=data.scale,
        declared=data.declared,
        mean=float(np.mean(data.value, dtype=np.float64)),
        levels=len(np.unique(data.value)),
        per_user=_spread(data.per_user),
        per_item=_spread(data.per_item),
        timed=data.time is not None,
    )


def _spread(counts: Ids) -> Spread:
    return int(counts.min()), float(np.median(counts)), int(counts.max())
