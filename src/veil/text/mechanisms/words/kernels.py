"""Two ways from word to word: perturb its vector, or draw from a few candidates."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids
from veil.data.memo import Memo, private_cache
from veil.text.mechanisms.words._law import VANISHED, Row, draw, make_rows
from veil.text.vectors.distances import in_chunks, rows_at_once
from veil.text.vectors.embeddings import Embeddings

Noise = Callable[[int, Generator], Floats]  # count, generator -> (count, d)
Pick = Callable[[Ids, Floats, Generator], Ids]  # nearest ids, distances (m, k) -> ids (m,)
Candidates = Callable[[Ids], tuple[Ids, Floats]]  # (m,) -> words (m, c), log-weights (m, c)
_FAR = 1e8  # times the length of the longest vector
_OWN_BYTES = 32 * 2**20  # of laws that are not shared
_POINTS = 4096  # perturbed vectors searched at a time


def first(ids: Ids, distances: Floats, rng: Generator) -> Ids:
    """Take the nearest word."""
    del distances, rng
    return ids[:, 0]


@dataclass(frozen=True)
class Perturb:
    """Add noise to the word's vector and pick among the `k` words nearest to the sum."""

    space: Embeddings
    noise: Noise
    k: int = 1
    pick: Pick = first

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        """Map word ids (n,) to draws (size, n)."""
        flat = np.tile(ids, size)
        out = np.empty(len(flat), dtype=np.int64)
        for start in range(0, len(flat), _POINTS):
            part = flat[start : start + _POINTS]
            points = self._shorten(self.space.points(part) + self.noise(len(part), rng))
            nearest, distances = self.space.searcher.nearest(points, self.k)
            out[start : start + len(part)] = self.pick(nearest, distances, rng)
        return out.reshape(size, len(ids))

    def _shorten(self, points: Floats) -> Floats:
        """Pull points that are very far away nearer, along their direction.

        From there the words differ by their direction only, and no square overflows. This looks
        at the perturbed vector alone, so that it is post-processing like the search itself.
        """
        reach = _FAR * max(1.0, math.sqrt(self.space.squares.max()))
        longest = np.abs(points).max(axis=1)
        if not np.isfinite(longest).all():
            raise ParameterError("The noise is too large to compute with; use a larger 'epsilon'.")
        far = longest > reach
        points[far] *= (reach / longest[far])[:, None]
        return points


@dataclass(frozen=True)
class Near:
    """How the candidates of a word follow from its nearest words, for one who looks those up.

    `weigh` takes the `depth` nearest words of some, each first of its own with distance -1, and
    their distances, both (m, depth); it returns words and log-weights as `Shortlist.shortlist`.
    """

    metric: str
    depth: int
    weigh: Callable[[Ids, Floats], tuple[Ids, Floats]]


@dataclass(frozen=True)
class Shortlist:
    """Draw from a law over a few candidates of each word; `near` says so if they are nearest."""

    space: Embeddings
    key: str
    shortlist: Candidates
    near: Near | None = None

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        """Map word ids (n,) to draws (size, n)."""
        most = rows_at_once(self.space)
        return sample_rows(self.space, self.key, self._rows, ids, size, most, rng)

    def probs(self, ids: Ids) -> Floats:
        """Return the exact probabilities (n, V)."""
        out = np.zeros((len(ids), self.space.size))
        self._fill(out, ids, np.exp)
        return out

    def log_probs(self, ids: Ids) -> Floats:
        """Return the exact log-probabilities (n, V): -inf outside the candidates."""
        out = np.full((len(ids), self.space.size), -np.inf)
        self._fill(out, ids, np.positive)
        return out

    def _fill(self, out: Floats, ids: Ids, function: np.ufunc) -> None:
        """Write a function of the candidates' log-probabilities where they stand."""
        for part in in_chunks(ids, rows_at_once(self.space)):
            candidates, weights = self.shortlist(ids[part])
            row, column = np.nonzero(weights > -np.inf)  # the rest is padding
            out[part][row, candidates[row, column]] = function(normalise(weights)[row, column])

    def _rows(self, ids: Ids) -> list[Row]:
        candidates, weights = self.shortlist(ids)
        return make_rows(weights, candidates)


def normalise(logs: Floats) -> Floats:
    """Subtract the log of the sum of exponentials from each row, in place."""
    top = logs.max(axis=1, keepdims=True)
    if not np.isfinite(top).all():
        raise ParameterError(VANISHED)
    logs -= top
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs


def sample_rows(
    space: Embeddings,
    key: str,
    make: Callable[[Ids], list[Row]],
    ids: Ids,
    size: int,
    most: int,
    rng: Generator,
) -> Ids:
    """Draw for each position from its word's row; rows are made once, at most `most` at a time.

    Rows are kept in the space's bounded cache under `key`, which names the law; in work that runs
    `apart`, in one of its own.
    """
    distinct, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")  # positions, grouped by word
    out = np.empty((size, len(ids)), dtype=np.int64)
    done = 0
    for part in in_chunks(distinct, most):
        rows = _cached(space, key, make, distinct[part])
        wanted = (counts[part] * size).tolist()
        drawn = draw(rows, wanted, rng)
        positions = order[done : done + int(counts[part].sum())]
        out[:, positions] = drawn.reshape(len(positions), size).T
        done += len(positions)
    return out


def _cached(
    space: Embeddings, key: str, make: Callable[[Ids], list[Row]], distinct: Ids
) -> Sequence[Row]:
    """Return the rows of distinct words, from the cache where they are there."""
    memo = private_cache(("laws", id(space)), lambda: Memo(_OWN_BYTES)) or space.memo
    rows = {int(i): memo.get((key, int(i)), Row) for i in distinct}
    missing = np.array([i for i, row in rows.items() if row is None], dtype=np.int64)
    for i, row in zip(missing.tolist(), make(missing) if len(missing) else (), strict=True):
        memo.put((key, i), row)
        rows[i] = row
    return [row for row in rows.values() if row is not None]
