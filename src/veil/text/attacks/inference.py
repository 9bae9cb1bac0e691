"""Inference: which query of a log is nearest to the centre of the variants."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from veil.core.errors import ParameterError
from veil.core.outcome import rank_with_ties
from veil.core.parallel import in_threads, one_blas_thread
from veil.core.types import Encoder, Floats, Ids, RawEncoder, Singles
from veil.data.fetch import Report, no_progress
from veil.text.attacks.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks.log import QueryLog

_STEP = 512  # texts encoded at a time
_KEPT = 512  # rows of texts whose mean is remembered


class CentroidCache:
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


def centroids(
    rows: Sequence[Sequence[str]], encoder: Encoder, report: Report = no_progress
) -> Floats:
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


_COLUMNS = 256  # centroids at a time
_BYTES = 8 * 2**20  # of scores, by one thread
_PAIRS = 2**20  # numbers gathered at a time, to compute scores again
_SINGLE = 2.0**-24  # relative rounding of float32


def ranks(
    centroids: Floats, vectors: Singles, places: Ids, *, block: int | None = None
) -> tuple[Ids, Ids]:
    """Return where row ``places[i]`` of `vectors` stands by its cosine with centroid i.

    That is its rank (n,), 1 + the number of rows with a higher score, and how many rows (n,) have
    its score, itself included. A place of -1 stands for a row that is not there: it comes after
    all others, alone.

    Parameters
    ----------
    centroids
        (n, d) of any length; a centroid of zeros has the same score with all rows.
    vectors
        (N, d) rows of length 1; may be memory-mapped, and is read once per 256 centroids.
    places
        (n,) positions in `vectors`.
    block
        Rows at a time; the result does not depend on it.

    Notes
    -----
    A float32 product decides for all rows whose score differs from that of the row in question by
    more than its proven error. The others, equal rows among them, are compared in float64 by a sum
    that depends on the two vectors alone, so that ties are ties whatever the blocks.
    """
    out = np.full(len(places), len(vectors) + 1, dtype=np.int64)
    ties = np.ones(len(places), dtype=np.int64)
    there = np.flatnonzero(places >= 0)
    for start in range(0, len(there), _COLUMNS):
        part = there[start : start + _COLUMNS]
        ahead, level = _Count(centroids[part], vectors, vectors[places[part]]).all(block)
        out[part], ties[part] = 1 + ahead, level
    return out, ties


def ranks_beside(centroids: Floats, vectors: Singles, rows: Singles) -> tuple[Ids, Ids]:
    """Return the same for row i of `rows`, which is no row of `vectors`, with centroid i."""
    ahead, level = _Count(centroids, vectors, rows).all(None)
    return 1 + ahead, 1 + level


class _Count:
    """How many rows are ahead of one row of each centroid, and level with it."""

    def __init__(self, centroids: Floats, vectors: Singles, rows: Singles) -> None:
        lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
        self._units = centroids / np.where(lengths > 0, lengths, 1)
        self._columns = np.ascontiguousarray(self._units.T, dtype=np.float32)
        self._vectors = vectors
        self._own = _exact(self._units, rows)
        error = (2 * vectors.shape[1] + 64) * _SINGLE  # of the product, with rounded inputs
        self._low = (self._own - error).astype(np.float32)
        self._high = (self._own + error).astype(np.float32)

    def all(self, block: int | None) -> tuple[Ids, Ids]:
        """Count in blocks of rows, shared out to threads."""
        many = len(self._own)
        rows = block or max(1, _BYTES // (4 * many))
        blocks = -(-len(self._vectors) // rows)
        counts = np.zeros((blocks, 2, many), dtype=np.int64)

        def work(numbers: slice) -> None:
            scores = np.empty((min(rows, len(self._vectors)), many), np.float32)
            for number in range(numbers.start, numbers.stop):
                first = number * rows
                some = self._vectors[first : first + rows]
                product = np.matmul(some, self._columns, out=scores[: len(some)])
                counts[number] = self._in_block(product, first)

        with one_blas_thread():
            in_threads(work, blocks)
        ahead, level = counts.sum(axis=0)
        return ahead, level

    def _in_block(self, scores: Singles, first: int) -> Ids:
        above = scores > self._high
        counts: Ids = np.zeros((2, len(self._own)), dtype=np.int64)
        counts[0] = np.count_nonzero(above, axis=0)
        near = scores >= self._low
        near &= ~above
        row, which = np.nonzero(near)
        row = row + first
        step = max(1, _PAIRS // self._vectors.shape[1])
        for start in range(0, len(row), step):
            r, w = row[start : start + step], which[start : start + step]
            score, own = _exact(self._units[w], self._vectors[r]), self._own[w]
            for count, there in zip(counts, (score > own, score == own), strict=True):
                count += np.bincount(w[there], minlength=len(count))
        return counts


def _exact(units: Floats, rows: Singles) -> Floats:
    """Return scores of pairs in float64; equal vectors have equal scores."""
    total: Floats = (units * rows).sum(axis=1)
    return total


class Inference(EncoderAttack):
    r"""Rank the queries of a log by cosine to the mean vector of the variants.

    .. math:: s(q) = \cos\Big(\mathrm{enc}(q),\ \frac{1}{N} \sum_j \mathrm{enc}(v_j)\Big)

    The mean is that of the vectors as the model gives them, before any scaling to length 1.
    The rank of the original is 1 + the number of distinct queries with a higher score; how many
    have the same score is counted beside it.

    References
    ----------
    De Faveri, Faggioli, Ferro. Measuring Actual Privacy of Obfuscated Queries in Information
    Retrieval. ECIR 2025, section 3: the Query Inference Attack.

    Notes
    -----
    An original that the log does not hold has rank len(log) + 1, so that the risk is a lower
    bound. Where nothing was released (an empty row, or blanks alone) the
    attacker guesses the most frequent queries first.
    """

    name: ClassVar[str] = "inference"
    needs: ClassVar[frozenset[str]] = frozenset({"log"})

    def rank(self, scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
        """Attack with an open encoder."""
        return inference_ranks(scene, encoder, report)


def inference_ranks(scene: Scene, encoder: Encoder, report: Report = no_progress) -> Outcome:
    """Rank each original in the log by the centroid of its variants."""
    log = require_log(scene, "inference")
    places = log_positions(scene)
    rows = [without_blanks(row) for row in scene.variants]
    centres = centroids(rows, encoder, report)
    found, ties = ranks(centres, log.vectors(encoder, report).vectors, places)
    for i in [i for i, row in enumerate(rows) if not row]:
        found[i], ties[i] = rank_with_ties(log.counts.astype(np.float64), int(places[i]))
    return queries_ranked(found, ties, len(log))


def without_blanks(variants: Sequence[str]) -> tuple[str, ...]:
    """Return the variants that say anything: one of blanks alone does not."""
    return tuple(variant for variant in variants if variant.strip())


def require_log(scene: Scene, name: str) -> QueryLog:
    """Return the log of a scene that cannot do without."""
    if scene.log is None:
        raise ParameterError(f"The {name} attacker needs a log of queries: give log=.")
    return scene.log


def log_positions(scene: Scene) -> Ids:
    """Return the place (n,) of each original in the log, -1 where the log does not hold it."""
    log = require_log(scene, "inference")
    return np.array([log.place(text) for text in scene.originals], dtype=np.int64)


def queries_ranked(found: Ids, ties: Ids, candidates: int) -> Outcome:
    """Return the outcome of guessing whole queries, one for each text."""
    among = np.full(len(found), candidates, dtype=np.int64)
    return Outcome(found, among, np.arange(len(found)), "query", ties=ties)


__all__ = ["Inference", "inference_ranks", "ranks"]
