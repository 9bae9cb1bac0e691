"""Cells: each track is cut by the same tree, so that near texts have near addresses."""

import numpy as np

from veil.core.types import Ids, Singles

_POWER = 12  # steps towards the first principal direction
_REFINED = 6


def cells(vectors: Singles, ids: Ids, count: int) -> Ids:
    """Return the cell (m,) of each text of a track: 0 to count - 1.

    The shape of the tree depends on `count` alone, so that neighbours in one track have cells
    whose numbers are those of neighbours in every other. The sizes of the cells differ by at most
    one.
    """
    out = np.empty(len(ids), dtype=np.int64)
    own = np.asarray(vectors[ids], dtype=np.float32)
    ends = np.arange(count + 1) * len(ids) // count

    def cut(rows: Ids, first: int, last: int) -> None:
        if last - first == 1:
            out[rows] = first
            return
        middle = first + (last - first) // 2
        left = int(ends[middle] - ends[first])
        order = _ordered(own[rows], left)
        cut(rows[order[:left]], first, middle)
        cut(rows[order[left:]], middle, last)

    cut(np.arange(len(ids)), 0, count)
    return out


def _ordered(v: Singles, left: int) -> Ids:
    """Order texts along the direction that tells the first `left` of them best from the rest."""
    x = v - v.mean(axis=0)
    d = x[int(np.argmax((x * x).sum(axis=1)))]
    for _ in range(_POWER):
        d = x.T @ (x @ d)
        d = d / max(float(np.linalg.norm(d)), 1e-12)
    order = np.argsort(-(x @ d), kind="stable")
    for _ in range(_REFINED if 0 < left < len(v) else 0):
        d = v[order[:left]].mean(axis=0) - v[order[left:]].mean(axis=0)
        order = np.argsort(-(v @ d), kind="stable")
    return order
