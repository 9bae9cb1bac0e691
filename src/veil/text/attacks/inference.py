"""Inference: find the query of a log that is nearest to the mean of the variants."""

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
from veil.text.attack import EncoderAttack, Outcome, Scene
from veil.text.log import QueryLog

_STEP = 512  # texts encoded at a time
_MAX_CACHED = 512  # rows of texts whose mean is cached


class CentroidCache:
    """Caches the mean vectors of rows of texts, because the same rows are released repeatedly.

    Released texts are not secret. They and their means are only in memory, and the oldest are
    dropped.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], Floats] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, row: tuple[str, ...], encoder: Encoder) -> Floats:
        """Return the mean (1, d) of a row. The encoder must always be the same."""
        with self._lock:
            mean = self._kept.get(row)
        if mean is None:
            mean = centroids([row], encoder)
            with self._lock:
                self._kept[row] = mean
                while len(self._kept) > _MAX_CACHED:
                    self._kept.popitem(last=False)
        return mean


def centroids(
    rows: Sequence[Sequence[str]], encoder: Encoder, report: Report = no_progress
) -> Floats:
    """Return the mean (n, d) of the vectors of each row of texts, zeros for an empty row.

    A repeated text is encoded once. Texts are encoded like those of a log. If the encoder returns
    raw vectors (`RawEncoder`), these are averaged, not the unit vectors.
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
        span = slice(int(ends[0]), int(ends[1]))
        _add(total, block, pairs[0, span] - start, pairs[1, span], times[span])
    if distinct:
        report("encoding variants", len(distinct), len(distinct))
    sizes = np.array([max(1, len(row)) for row in rows], dtype=np.float64)
    return total / sizes.reshape(-1, 1)


def _add(total: Floats, block: Floats, rows: Ids, owners: Ids, times: Ids) -> None:
    """Add rows of the block, multiplied by `times`, to the rows of the total that own them."""
    for start in range(0, len(times), _STEP):
        span = slice(start, start + _STEP)
        np.add.at(total, owners[span], block[rows[span]] * times[span, None])


_COLUMNS = 256  # centroids at a time
_BYTES = 8 * 2**20  # of scores per thread
_PAIRS = 2**20  # numbers gathered at a time to recompute scores
_SINGLE = 2.0**-24  # relative rounding of float32


def ranks(
    centroids: Floats, vectors: Singles, places: Ids, *, block: int | None = None
) -> tuple[Ids, Ids]:
    """Return the rank of row ``places[i]`` of `vectors` by its cosine with centroid i.

    Returns the ranks (n,), 1 + the number of rows with a higher score, and the number of rows (n,)
    with the same score, itself included. A place of -1 means a missing row, which ranks last,
    without ties.

    Parameters
    ----------
    centroids
        (n, d) of any length; a centroid of zeros has the same score for all rows.
    vectors
        (N, d) rows of length 1; may be memory-mapped, and is read once per 256 centroids.
    places
        (n,) positions in `vectors`.
    block
        Rows at a time; the result does not depend on it.

    Notes
    -----
    A float32 product decides for all rows whose score differs from that of the given row by more
    than its proven error. The others, which include equal rows, are compared in float64 by a sum
    that depends only on the two vectors, so ties do not depend on the blocks.
    """
    out = np.full(len(places), len(vectors) + 1, dtype=np.int64)
    ties = np.ones(len(places), dtype=np.int64)
    present = np.flatnonzero(places >= 0)
    for start in range(0, len(present), _COLUMNS):
        part = present[start : start + _COLUMNS]
        ahead, level = _Count(centroids[part], vectors, vectors[places[part]]).all(block)
        out[part], ties[part] = 1 + ahead, level
    return out, ties


def ranks_beside(centroids: Floats, vectors: Singles, rows: Singles) -> tuple[Ids, Ids]:
    """Return the same for row i of `rows` and centroid i, where `rows` are not in `vectors`."""
    ahead, level = _Count(centroids, vectors, rows).all(None)
    return 1 + ahead, 1 + level


class _Count:
    """Counts the rows that score higher than, or tie with, one row per centroid."""

    def __init__(self, centroids: Floats, vectors: Singles, rows: Singles) -> None:
        lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
        self._units = centroids / np.where(lengths > 0, lengths, 1)
        self._columns = np.ascontiguousarray(self._units.T, dtype=np.float32)
        self._vectors = vectors
        self._own = _exact(self._units, rows)
        error = (2 * vectors.shape[1] + 64) * _SINGLE  # of a product of rounded inputs
        self._low = (self._own - error).astype(np.float32)
        self._high = (self._own + error).astype(np.float32)

    def all(self, block: int | None) -> tuple[Ids, Ids]:
        """Count in blocks of rows, divided among threads."""
        many = len(self._own)
        rows = block or max(1, _BYTES // (4 * many))
        blocks = -(-len(self._vectors) // rows)
        counts = np.zeros((blocks, 2, many), dtype=np.int64)

        def work(numbers: slice) -> None:
            scores = np.empty((min(rows, len(self._vectors)), many), np.float32)
            for number in range(numbers.start, numbers.stop):
                first = number * rows
                part = self._vectors[first : first + rows]
                product = np.matmul(part, self._columns, out=scores[: len(part)])
                counts[number] = self._in_block(product, first)

        with one_blas_thread():
            in_threads(work, blocks)
        ahead, level = counts.sum(axis=0)
        return ahead, level

    def _in_block(self, scores: Singles, first: int) -> Ids:
        above = scores > self._high
        counts: Ids = np.zeros((2, len(self._own)), dtype=np.int64)
        counts[0] = np.count_nonzero(above, axis=0)
        close = scores >= self._low
        close &= ~above
        row, which = np.nonzero(close)
        row = row + first
        step = max(1, _PAIRS // self._vectors.shape[1])
        for start in range(0, len(row), step):
            r, w = row[start : start + step], which[start : start + step]
            score, own = _exact(self._units[w], self._vectors[r]), self._own[w]
            for count, mask in zip(counts, (score > own, score == own), strict=True):
                count += np.bincount(w[mask], minlength=len(count))
        return counts


def _exact(units: Floats, rows: Singles) -> Floats:
    """Return the scores of pairs in float64. Equal vectors have equal scores."""
    total: Floats = (units * rows).sum(axis=1)
    return total


class Inference(EncoderAttack):
    r"""Rank the queries of a log by cosine to the mean vector of the variants.

    .. math:: s(q) = \cos\Big(\mathrm{enc}(q),\ \frac{1}{N} \sum_j \mathrm{enc}(v_j)\Big)

    The mean is that of the model's own vectors, before they are normalised. The rank of the
    original is 1 + the number of distinct queries with a higher score; ties are counted
    separately.

    References
    ----------
    De Faveri, Faggioli, Ferro. Measuring Actual Privacy of Obfuscated Queries in Information
    Retrieval. ECIR 2025, section 3: the Query Inference Attack.

    Notes
    -----
    An original that the log does not have gets rank len(log) + 1, so the risk is a lower bound. If
    nothing was released (an empty row, or only blanks), the most frequent queries are guessed
    first.
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
    true_ranks, ties = ranks(centres, log.vectors(encoder, report).vectors, places)
    for i in [i for i, row in enumerate(rows) if not row]:
        true_ranks[i], ties[i] = rank_with_ties(log.counts.astype(np.float64), int(places[i]))
    return queries_ranked(true_ranks, ties, len(log))


def without_blanks(variants: Sequence[str]) -> tuple[str, ...]:
    """Return the variants that are not blank."""
    return tuple(variant for variant in variants if variant.strip())


def require_log(scene: Scene, name: str) -> QueryLog:
    """Return the log of a scene, or raise an error if there is none."""
    if scene.log is None:
        raise ParameterError(f"The {name} attacker needs a log of queries: give log=.")
    return scene.log


def log_positions(scene: Scene) -> Ids:
    """Return the position (n,) of each original in the log, -1 if the log does not have it."""
    log = require_log(scene, "inference")
    return np.array([log.place(text) for text in scene.originals], dtype=np.int64)


def queries_ranked(ranks: Ids, ties: Ids, candidates: int) -> Outcome:
    """Return the outcome of guessing whole queries, one per text."""
    among = np.full(len(ranks), candidates, dtype=np.int64)
    return Outcome(ranks, among, np.arange(len(ranks)), "query", ties=ties)


__all__ = ["Inference", "inference_ranks", "ranks"]
