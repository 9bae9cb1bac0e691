"""Words with few frequent and many rare ones, and how often each was drawn."""

import numpy as np

from veil.core.types import Ids


def zipf(n: int, size: int, seed: int = 1) -> tuple[Ids, Ids]:
    """Return n codes below `size`, and their counts."""
    weights = 1 / np.arange(1, size + 1)
    codes = np.random.default_rng(seed).choice(size, n, p=weights / weights.sum())
    return codes, np.bincount(codes, minlength=size)


def words(codes: Ids) -> list[str]:
    return [f"word {code}" for code in codes.tolist()]
