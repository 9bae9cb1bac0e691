"""What categories lose: values that changed, contingency tables, and conditional entropy."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from veil.core.types import Floats
from veil.tables.measures.cells import relabelled
from veil.tables.measures.distance import distance
from veil.tables.measures.pair import Pair
from veil.tables.table import row_classes


def direct(pair: Pair, name: str) -> float:
    """Return the share of values that changed; a generalised one counts as much as it covers."""
    lost = relabelled(pair, name)
    return float(lost.mean()) if len(lost) else 0.0


def contingency(pair: Pair, names: Sequence[str], order: int) -> float:
    """Return the mean, over all tables of up to `order` columns, of sum |differences| / 2n.

    Compared are the rows that were released; a generalised label is spread over what it covers.
    """
    tables = [one for size in range(1, order + 1) for one in combinations(names, size)]
    return float(np.mean([distance(pair, one, kept=True) for one in tables]))


def entropy(pair: Pair, name: str) -> float:
    """Return H(V | V') in bits: how uncertain the original value is for who sees the released."""
    before = pair.original.column(name).codes[pair.required_rows]
    after = pair.released.column(name).codes
    if not len(after):
        return 0.0
    both = row_classes([before, after], len(after))
    return _bits(np.bincount(both)) - _bits(np.bincount(after + 1))


def _bits(counts: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> float:
    shares: Floats = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
