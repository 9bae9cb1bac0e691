"""Vickrey: choose between the words nearest to the perturbed vector."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.text.mechanisms.mechanism import Epsilon, WordMechanism
from veil.text.mechanisms.words.cmp import CMP
from veil.text.mechanisms.words.kernels import NoiseKernel
from veil.text.mechanisms.words.mahalanobis import Lam, Mahalanobis, UnitDirection
from veil.text.vectors.embeddings import Embeddings


class Vickrey(WordMechanism):
    r"""Perturb like CMP or Mahalanobis, then release the nearest or the second nearest word.

    .. math:: \Pr[w_1] = \frac{(1-t)\, d_2}{t\, d_1 + (1-t)\, d_2}, \quad
       \Pr[w_2] = \frac{t\, d_1}{t\, d_1 + (1-t)\, d_2}

    where :math:`d_1 \le d_2` are the distances of the two nearest words to the perturbed vector.
    Proved: the parent's guarantee unchanged, because the choice uses only the perturbed vector.
    With `t` = 0 this is the parent mechanism.

    References
    ----------
    Xu, Aggarwal, Feyisetan, Teissier. On a Utilitarian Approach to Privacy Preserving Text
    Generation. PrivateNLP 2021, Algorithm 1. doi:10.18653/v1/2021.privatenlp-1.2

    Notes
    -----
    The two probabilities are proportional to (1-t)/d1 and t/d2. For `k` > 2, t is split evenly
    before the division: the weights are (1-t)/d1 and t/((k-1) di). This is our reading of the
    paper's remark that more neighbours may be used.
    """

    name: ClassVar[str] = "vickrey"
    paper: ClassVar[str] = "Xu et al., PrivateNLP 2021"
    family: ClassVar[str] = "Embedding perturbation"

    epsilon: Epsilon
    t: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="weight of the second nearest word",
            examples=[0.75],
            json_schema_extra=PRIVATE,
        ),
    ] = 0.75
    noise: Annotated[Literal["cmp", "mahalanobis"], Field(description="the parent mechanism")] = (
        "cmp"
    )
    lam: Lam = 1.0
    unit_direction: UnitDirection = False
    k: Annotated[
        int,
        Field(
            ge=2,
            le=1000,
            description="nearest words to choose from",
            json_schema_extra=PRIVATE,
        ),
    ] = 2

    @property
    def _parent(self) -> CMP | Mahalanobis:
        if self.noise == "cmp":
            return CMP(epsilon=self.epsilon)
        return Mahalanobis(epsilon=self.epsilon, lam=self.lam, unit_direction=self.unit_direction)

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the parent: the choice is post-processing."""
        return self._parent.guarantee

    def bind(self, space: Embeddings) -> NoiseKernel:
        """Return the parent's kernel with a choice among `k` neighbours."""
        if self.k > space.size:
            raise ParameterError(
                f"The 'k' parameter of vickrey must be <= {space.size}, the number of words of"
                f" {space.name}. Got {self.k} instead."
            )
        return NoiseKernel(space, self._parent.bind(space).noise, self.k, self._pick)

    def _pick(self, ids: Ids, distances: Floats, rng: Generator) -> Ids:
        """Choose one column per row by a race with rates share_i / distance_i; the first wins.

        If words with a positive share are at distance zero, one of them is always chosen.
        """
        share = np.full(self.k, self.t / (self.k - 1))
        share[0] = 1 - self.t
        at_zero = (distances == 0) & (share > 0)
        certain = at_zero.any(axis=1)[:, None]
        lengths = np.where(certain, np.where(at_zero, 1.0, np.inf), distances)
        lengths[:, share == 0] = np.inf
        arrival = rng.standard_exponential(ids.shape) * lengths / np.where(share > 0, share, 1)
        winners: Ids = np.take_along_axis(ids, arrival.argmin(axis=1)[:, None], axis=1)[:, 0]
        return winners
