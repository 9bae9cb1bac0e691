"""How far the shares of a release are from those of its original: total variation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.measures.bins import Bins, Placed, sparse
from veil.tables.measures.pair import Pair

_DENSE = 2**22  # kinds of pairs that are counted in a dense table
_AT_ONCE = 2**22  # cells that are compared at a time


def distance(pair: Pair, names: Sequence[str], *, kept: bool = False) -> float:
    """Return half the sum of |differences| of shares, of one column or of two together.

    Suppressed rows count as stars, and shares are those of the whole original; with `kept` both
    are of the released rows alone.
    """
    rows = pair.rows if kept else None
    removed = 0 if kept else pair.removed
    if len(names) == 1:
        return _one(pair.bins(names[0]), pair.placed(names[0]), rows, removed)
    first, second = names
    return _two(
        (pair.bins(first), pair.bins(second)),
        (pair.placed(first), pair.placed(second)),
        rows,
        removed,
    )


def shares(bins: Bins, placed: Placed, removed: int = 0) -> Floats:
    """Return the share of each bin in a release (bins,)."""
    kinds = np.bincount(placed.codes, minlength=placed.weights.shape[0])
    found = placed.weights.T @ kinds + removed * bins.star
    whole: Floats = found / max(1.0, float(len(placed.codes) + removed))
    return whole


def _one(bins: Bins, placed: Placed, rows: Ids | None, removed: int) -> float:
    codes = bins.codes if rows is None else bins.codes[rows]
    true = np.bincount(codes, minlength=bins.size) / max(1, len(codes))
    return 0.5 * float(np.abs(true - shares(bins, placed, removed)).sum())


def _two(
    bins: tuple[Bins, Bins], placed: tuple[Placed, Placed], rows: Ids | None, removed: int
) -> float:
    one, other = bins
    across, along = one.codes, other.codes
    if rows is not None:
        across, along = across[rows], along[rows]
    true = counted(across, along, (one.size, other.size))
    seen = counted(placed[0].codes, placed[1].codes, tuple(p.weights.shape[0] for p in placed))
    before, after = max(1, len(across)), max(1, len(placed[0].codes) + removed)
    left, step, total = placed[0].weights.T.tocsr(), max(1, _AT_ONCE // other.size), 0.0
    for start in range(0, one.size, step):
        block = slice(start, min(start + step, one.size))
        made = (left[block] @ seen @ placed[1].weights).toarray()
        if removed:
            made += removed * np.outer(one.star[block], other.star)
        total += float(np.abs(true[block].toarray() / before - made / after).sum())
    return 0.5 * total


def counted(first: Ids, second: Ids, shape: Sequence[int]) -> Any:  # noqa: ANN401 - of SciPy
    """Return how often each kind of one meets each of another, as a sparse matrix."""
    matrix = sparse()
    if shape[0] * shape[1] <= _DENSE:
        flat = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
        return matrix.csr_matrix(flat.reshape(shape[0], shape[1]).astype(np.float64))
    ones = np.ones(len(first))
    return matrix.coo_matrix((ones, (first, second)), shape=tuple(shape)).tocsr()
