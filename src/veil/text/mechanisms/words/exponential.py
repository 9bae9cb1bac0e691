"""Draw from a law over the whole vocabulary that falls exponentially in the distance."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veil.core.parallel import in_threads
from veil.core.types import Floats, Ids, Singles
from veil.text.mechanisms.words._law import BLOCK, Row, running_sums
from veil.text.mechanisms.words.kernels import normalise, sample_rows
from veil.text.vectors.distances import COLUMNS, distances, in_chunks, rows_at_once, sweep
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.exponential import exp_in_place

_ROWS = 64  # laws made at a time
_STEEPEST = 1e30  # slopes beyond this are the same in float32: all other words are out of reach
_EMPTY = Row(np.ones((1, BLOCK), dtype=np.float32), np.ones(1))
_FAINT = 1e-25  # a row whose largest weight is below this is computed again, scaled


@dataclass(frozen=True)
class Exponential:
    r"""Weights :math:`e^{-slope \min(d(w, v), cap)}` over the words v >= first.

    A word w < first is kept with probability 1 - p; with probability p it is replaced like any
    other. `key` names the law in the cache of the space.
    """

    space: Embeddings
    key: str
    slope: float
    metric: str = "euclidean"
    cap: float = math.inf
    first: int = 0
    p: float = 1.0

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        """Map word ids (n,) to draws (size, n)."""
        return sample_rows(self.space, self.key, self._rows, ids, size, _ROWS, rng)

    def probs(self, ids: Ids) -> Floats:
        """Return the exact probabilities (n, V)."""
        out = np.empty((len(ids), self.space.size))
        for part in in_chunks(ids, _ROWS):
            own = out[part]
            sums = np.zeros((len(own), -(-self.space.size // COLUMNS)))

            def take(
                block: Floats, columns: slice, own: Floats = own, sums: Floats = sums
            ) -> None:
                self._scale(block, columns)
                exp_in_place(block)
                own[:, columns] = block
                sums[:, columns.start // COLUMNS] = block.sum(axis=1)

            sweep(self.space, ids[part], self.metric, take)
            total = sums.sum(axis=1, keepdims=True)
            if total.min() < _FAINT:
                own[:] = np.exp(self.log_probs(ids[part]))
                continue
            kept = self._kept(ids[part])

            def divide(rows: slice, own: Floats = own, total: Floats = total) -> None:
                own[rows] /= total[rows]

            in_threads(divide, len(own))
            own[kept] *= self.p
            own[kept, ids[part][kept]] = 1 - self.p
        return out

    def log_probs(self, ids: Ids) -> Floats:
        """Return the exact log-probabilities (n, V)."""
        out = np.empty((len(ids), self.space.size))
        for part in in_chunks(ids, rows_at_once(self.space)):
            out[part] = self._logs(ids[part])
        return out

    def _scale(self, block: Floats, columns: slice) -> None:
        """Turn distances into log-weights, in place."""
        if self.cap < math.inf:
            np.minimum(block, self.cap, out=block)
        with np.errstate(over="ignore"):
            block *= -self.slope
        if columns.start < self.first:
            block[:, : self.first - columns.start] = -np.inf

    def _kept(self, ids: Ids) -> Ids:
        """Return which of the words are kept with probability 1 - p."""
        return np.flatnonzero(ids < self.first)

    def _logs(self, ids: Ids) -> Floats:
        logs = distances(self.space, ids, self.metric)
        self._scale(logs, slice(0, self.space.size))
        normalise(logs)
        kept = self._kept(ids)
        logs[kept] += math.log(self.p)
        logs[kept, ids[kept]] = math.log(1 - self.p) if self.p < 1 else -math.inf
        return logs

    def _rows(self, ids: Ids) -> list[Row]:
        """Compute the weights of all words for `ids`, block by block, straight into their rows.

        The products are float64; root, factor and exponential are float32, which is as if epsilon
        were off by 3e-7 of itself.
        """
        width = -(-self.space.size // BLOCK) * BLOCK
        weights: list[Singles] = [np.zeros(width, dtype=np.float32) for _ in ids]
        plain = self.metric == "euclidean"

        def take(block: Floats, columns: slice) -> None:
            part = block.astype(np.float32)
            if plain:
                np.sqrt(part, out=part)
            if self.cap < _STEEPEST:
                np.minimum(part, self.cap, out=part)
            part *= -min(self.slope, _STEEPEST)
            np.exp(part, out=part)
            part[:, : max(0, self.first - columns.start)] = 0
            for row, own in zip(part, weights, strict=True):
                own[columns] = row

        sweep(self.space, ids, "squared" if plain else self.metric, take)
        rows: list[Row] = [_EMPTY] * len(ids)

        def add_up(part: slice) -> None:
            for i in range(part.start, part.stop):
                rows[i] = self._row(int(ids[i]), weights[i])

        in_threads(add_up, len(ids))
        return rows

    def _row(self, word: int, weights: Singles) -> Row:
        blocks = weights.reshape(-1, BLOCK)
        sums = running_sums(blocks)
        if sums[-1] < _FAINT:  # every word is far away: the same law, scaled to be seen
            logs = self._logs(np.array([word]))[0]
            weights[: len(logs)] = np.exp(logs - logs.max())
        elif word < self.first:
            weights[word] = sums[-1] * (1 - self.p) / self.p
        else:
            return Row(blocks, sums)
        return Row(blocks, running_sums(blocks))
