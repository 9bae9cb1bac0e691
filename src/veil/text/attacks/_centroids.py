"""The mean vector of each row of texts."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from veil.core.types import Encoder, Floats, Ids, RawEncoder
from veil.data.fetch import Report, silent

_STEP = 512  # texts encoded at a time
_KEPT = 512  # rows of texts whose mean is remembered


class Centres:
    """Remembers the mean vector of rows of texts: the same ones are released again and again.

    Texts that were released are no secret; they and their means are in memory alone, and the
    oldest ones are forgotten.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], Floats] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, row: tuple[str, ...], encoder: Encoder) -> Floats:
        """Return the mean (1, d) of one row, which must always come with the same encoder."""
        with self._lock:
            found = self._kept.get(row)
        if found is None:
            found = centroids([row], encoder)
            with self._lock:
                self._kept[row] = found
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return found


def centroids(rows: Sequence[Sequence[str]], encoder: Encoder, report: Report = silent) -> Floats:
    """Return the mean (n, d) of the vectors of each row of texts; zeros for an empty row.

    A text that comes many times is encoded once, and as the texts of a log are. Vectors have the
    length that the model gives them, where it tells (`RawEncoder`).
    """
    encode = encoder.raw if isinstance(encoder, RawEncoder) else encoder.encode
    numbers: dict[str, int] = {}
    texts = [numbers.setdefault(text, len(numbers)) for row in rows for text in row]
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    pairs, times = np.unique(np.array([texts, owners], dtype=np.int64), axis=1, return_counts=True)
    distinct = list(numbers)
    total = np.zeros((len(rows), encoder.dim))
    for start in range(0, len(distinct), _STEP):
        report("encoding variants", start, len(distinct))
        block = encode(distinct[start : start + _STEP], "document").astype(np.float64)
        ends = np.searchsorted(pairs[0], [start, start + len(block)])
        some = slice(int(ends[0]), int(ends[1]))
        _add(total, block, pairs[0, some] - start, pairs[1, some], times[some])
    if distinct:
        report("encoding variants", len(distinct), len(distinct))
    sizes = np.array([max(1, len(row)) for row in rows], dtype=np.float64)
    return total / sizes.reshape(-1, 1)


def _add(total: Floats, block: Floats, rows: Ids, owners: Ids, times: Ids) -> None:
    """Add rows of the block, so many times each, to the rows of the total that own them."""
    for start in range(0, len(times), _STEP):
        some = slice(start, start + _STEP)
        np.add.at(total, owners[some], block[rows[some]] * times[some, None])
