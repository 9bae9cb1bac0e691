"""A model of a mechanism without a closed form, learned from simulated draws."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.parallel import in_threads, one_blas_thread
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent
from veil.text.attacks._sums import ROUNDING, subspace
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.vectors.embeddings import Embeddings

_DRAWS = 20_000  # words that the mechanism is tried on
_SEED = 20261116  # the same question gives the same answer; nothing to do with a release's own
_ROWS = 2048  # words of the vocabulary at a time
_SLOTS = 32  # slots weighed at a time
_NUMBERS = 2**24  # held at a time
_RIDGE = 1e-6  # of the mean variance of a coordinate


@dataclass(frozen=True, eq=False)
class Simulated:
    r"""A Gaussian model of the vector that comes out, linear in the vector that goes in.

    .. math:: \phi(y) | w \sim N(m + B \phi(w), C)

    Whoever knows the mechanism can try it: it is drawn from for 20,000 words taken uniformly from
    the vocabulary, and m, B and C are fitted by least squares. The sum over what was seen then is
    a product of each word's vector with the mean of what was seen, less a term of the word's own.

    Notes
    -----
    A surrogate of any mechanism that can be drawn from. Where noise carries most words away, the
    nearest word is one that lies far out; the density of the noise at its vector then says little
    and accumulates errors, while B shrinks as it must. Outputs that are the word itself are left
    out of the fit as long as they are at most half: they are a point mass, and no Gaussian.
    """

    space: Embeddings
    slope: Floats  # (d + 1, d): what a vector seen adds for the coordinates of a word, and for 1
    own: Floats  # (V,) what each word costs

    @classmethod
    def of_mechanism(cls, mechanism: WordMechanism, space: Embeddings) -> "Simulated":
        """Draw from a mechanism, and fit the model."""
        rng = generator(_SEED)
        words = rng.integers(space.size, size=_DRAWS)
        drawn = mechanism.bind(space).sample(words, 1, rng)[0]
        other = drawn != words
        if 2 * np.count_nonzero(other) < _DRAWS:
            other[:] = True
        given = _extended(space.points(words[other]))
        seen = space.points(drawn[other])
        slack = _RIDGE * max(
            float(seen.var(axis=0).mean()), float(given.var(axis=0).mean()), 1e-12
        )
        moments = given.T @ given / len(given) + slack * np.eye(space.dim + 1)
        line = np.linalg.solve(moments, given.T @ seen / len(given))  # (d + 1, d): B, then m
        gaps = seen - given @ line
        spread = gaps.T @ gaps / len(gaps) + slack * np.eye(space.dim)
        slope: Floats = np.linalg.solve(spread, line.T).T
        return cls(space, slope, _own(space, slope @ line.T))

    @property
    def rounding(self) -> float:
        """How much two sums that are equal may differ, as a share of themselves."""
        return ROUNDING

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.own.nbytes + self.slope.nbytes

    def prepare(self, exact: Ids, report: Report = silent) -> None:
        """Nothing takes long any more."""

    def within(self, words: Ids, exact: Ids) -> "Simulated":
        """Return the same over these words."""
        del exact  # it is all the same
        return Simulated(subspace(self.space, words), self.slope, self.own[words])

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the log-likelihood of every word (V,), up to a constant."""
        del exact  # it is all the same
        (found,) = self.each([seen])
        return found

    def each(self, seen: Sequence[Ids]) -> Iterator[Floats]:
        """Yield the log-likelihoods (V,) for what was seen in many slots, some at a time."""
        step = max(1, min(_SLOTS, _NUMBERS // self.space.size))
        for start in range(0, len(seen), step):
            yield from self._together(seen[start : start + step])

    def _together(self, seen: Sequence[Ids]) -> Floats:
        """Return the log-likelihoods (slots, V)."""
        sums = np.zeros((len(seen), self.space.dim))
        for total, ids in zip(sums, seen, strict=True):
            words, counts = np.unique(ids, return_counts=True)
            total += counts @ self.space.points(words)
        times = np.array([[len(ids)] for ids in seen], dtype=np.float64)
        directions = np.concatenate([sums @ self.slope.T, -times], axis=1)  # (slots, d + 2)
        out = np.empty((len(seen), self.space.size))
        dim = self.space.dim

        def work(blocks: slice) -> None:
            points = np.ones((_ROWS, dim + 2))  # vectors, ones, and what each word costs
            for number in range(blocks.start, blocks.stop):
                rows = slice(number * _ROWS, min((number + 1) * _ROWS, self.space.size))
                count = rows.stop - rows.start
                points[:count, :dim] = self.space.vectors[rows]
                points[:count, -1] = self.own[rows]
                out[:, rows] = directions @ points[:count].T

        with one_blas_thread():
            in_threads(work, -(-self.space.size // _ROWS))
        return out


def _own(space: Embeddings, weights: Floats) -> Floats:
    """Return half the squared length of what the model expects of each word, (V,)."""
    out = np.empty(space.size)
    for start in range(0, space.size, _ROWS):
        rows = slice(start, min(start + _ROWS, space.size))
        points = _extended(space.vectors[rows].astype(np.float64))
        out[rows] = 0.5 * np.einsum("ij,ij->i", points @ weights, points)
    return out


def _extended(points: Floats) -> Floats:
    """Return rows with a 1 at their end."""
    return np.concatenate([points, np.ones((len(points), 1))], axis=1)
