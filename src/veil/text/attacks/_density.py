"""Noise on vectors: the density of the noise stands in for the law of the words."""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.data.fetch import Report, silent
from veil.text.attacks._sums import ROUNDING, subspace, summed
from veil.text.mechanisms.words.cmp import CMP
from veil.text.mechanisms.words.mahalanobis import Mahalanobis, root_of
from veil.text.mechanisms.words.vickrey import Vickrey
from veil.text.vectors.embeddings import Embeddings


@dataclass(frozen=True, eq=False)
class Density:
    r"""The log-density of the noise at :math:`z = \phi(y) - \phi(w)`, up to a constant.

    For CMP :math:`-\varepsilon \lVert z \rVert`; for Mahalanobis noise
    :math:`-\varepsilon \lVert A^{-1} z \rVert`. With `unit_direction` the direction Au/|Au| has
    the angular central Gaussian density, so that the log-density is
    :math:`-\varepsilon \lVert z \rVert - d \log(\lVert A^{-1} z \rVert / \lVert z \rVert)`; at
    z = 0 the mean of that density over all directions is taken, log det A. Vickrey has the density
    of its parent.

    Notes
    -----
    A surrogate: the true law integrates the density over all points nearest to y. It needs no
    factor that depends on w, because the noise is the same for all words.
    """

    space: Embeddings
    epsilon: float
    straight: Embeddings | None = None  # the words times the inverse of A
    log_det: float | None = None  # of A, where the direction has length 1

    @classmethod
    def of_mechanism(cls, mechanism: CMP | Mahalanobis | Vickrey, space: Embeddings) -> "Density":
        """Read the noise off a mechanism."""
        parent = mechanism._parent if isinstance(mechanism, Vickrey) else mechanism
        if isinstance(parent, CMP):
            return cls(space, parent.epsilon)
        root = root_of(space, parent.lam)
        vectors = np.linalg.solve(root, space.vectors.T.astype(np.float64)).T
        name = f"{space.name}, straight"
        straight = Embeddings(space.words, vectors.astype(np.float32), name, trusted=True)
        log_det = float(np.linalg.slogdet(root)[1]) if parent.unit_direction else None
        return cls(space, parent.epsilon, straight, log_det)

    @property
    def rounding(self) -> float:
        """How much two sums that are equal may differ, as a share of themselves."""
        return ROUNDING

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return 0 if self.straight is None else self.straight.vectors.nbytes

    def within(self, words: Ids, exact: Ids) -> "Density":
        """Return the same over these words."""
        del exact  # it is all the same
        straight = None if self.straight is None else subspace(self.straight, words)
        return Density(subspace(self.space, words), self.epsilon, straight, self.log_det)

    def prepare(self, exact: Ids, report: Report = silent) -> None:
        """Nothing takes long."""

    def of(self, seen: Ids, exact: Ids | None = None) -> Floats:
        """Return the sum of the log-densities for every word (V,)."""
        del exact  # it is all the same
        space = self.space if self.straight is None else self.straight
        if self.log_det is None:
            return -self.epsilon * summed(space, seen, "euclidean")
        out = -self.epsilon * summed(self.space, seen, "euclidean")
        out += self.space.dim * summed(self.space, seen, "euclidean", _log)
        out -= self.space.dim * summed(space, seen, "euclidean", _log)
        out += self.log_det * summed(self.space, seen, "euclidean", _zero)
        return out


def _log(block: Floats) -> None:
    """Take logarithms of distances; those of words that coincide cancel out later."""
    block[block == 0] = 1
    np.log(block, out=block)


def _zero(block: Floats) -> None:
    """Mark words that coincide."""
    block[:] = block == 0
