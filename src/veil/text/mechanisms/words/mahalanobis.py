"""Mahalanobis: noise shaped by the covariance of the vocabulary."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import laplace_ball, sphere
from veil.core.types import Floats
from veil.text.mechanisms.mechanism import Epsilon, WordMechanism
from veil.text.mechanisms.words.cmp import NEAR
from veil.text.mechanisms.words.kernels import Noise, NoiseKernel
from veil.text.vectors.embeddings import Embeddings

Lam = Annotated[
    float,
    Field(ge=0, le=1, description="share of the vocabulary's covariance", examples=[0.5]),
]
UnitDirection = Annotated[
    bool,
    Field(description="scale the skewed direction to length 1, as pyPANTERA does (no proof)"),
]


class Mahalanobis(WordMechanism):
    r"""Add elliptical noise to the word's vector and release the nearest word.

    .. math:: x = \phi(w) + r A u, \quad A = (\lambda\Sigma + (1-\lambda) I)^{1/2}, \quad
       r \sim \Gamma(d, 1/\varepsilon)

    with u uniform on the unit sphere and the covariance of the vocabulary scaled to trace d.
    Proved: metric DP for the regularised Mahalanobis distance
    :math:`\sqrt{(x-y)^\top (A A^\top)^{-1} (x-y)}`. With `lam` = 0 this is CMP.

    References
    ----------
    Xu, Aggarwal, Feyisetan, Teissier. A Differentially Private Text Perturbation Method Using
    Regularized Mahalanobis Metric. PrivateNLP 2020, Algorithm 1.
    doi:10.18653/v1/2020.privatenlp-1.2

    Notes
    -----
    `unit_direction` normalises A u before it is multiplied by r, as pyPANTERA does. The density
    then depends on the direction of the noise as well, so the paper's proof does not cover it.
    """

    name: ClassVar[str] = "mahalanobis"
    paper: ClassVar[str] = "Xu et al., PrivateNLP 2020"
    family: ClassVar[str] = "Embedding perturbation"

    epsilon: Epsilon
    lam: Lam = 1.0
    unit_direction: UnitDirection = False

    @property
    def guarantee(self) -> Guarantee:
        """Metric DP under the regularised Mahalanobis distance."""
        return elliptical_guarantee(self.epsilon, self.lam, self.unit_direction)

    def bind(self, space: Embeddings) -> NoiseKernel:
        """Compute the square root of the regularised covariance."""
        return NoiseKernel(space, elliptical(space, self.epsilon, self.lam, self.unit_direction))


def elliptical_guarantee(epsilon: float, lam: float, unit_direction: bool) -> Guarantee:
    """Return the guarantee of elliptical noise."""
    if unit_direction and lam > 0:
        return Guarantee(
            "none",
            caveat=f"The nominal epsilon is {epsilon:g}, but with unit_direction the density of"
            " the noise depends on its direction, which the paper's proof does not cover.",
        )
    return Guarantee("metric-dp", epsilon, f"mahalanobis(lam={lam:g})", caveat=NEAR)


def elliptical(space: Embeddings, epsilon: float, lam: float, unit_direction: bool) -> Noise:
    """Return the sampler of the noise r A u."""
    root = root_of(space, lam)

    def noise(count: int, rng: Generator) -> Floats:
        if not unit_direction:
            return laplace_ball(count, space.dim, epsilon, rng) @ root
        direction = sphere(count, space.dim, rng) @ root
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return rng.gamma(space.dim, 1 / epsilon, count)[:, None] * direction

    return noise


def root_of(space: Embeddings, lam: float) -> Floats:
    """Return the symmetric root (lam * Sigma + (1 - lam) * I)^(1/2), Sigma scaled to trace d."""
    key = ("mahalanobis", lam)
    root = space.memo.get(key, np.ndarray)
    if root is None:
        root = _compute_root(space, lam)
        space.memo.put(key, root)
    return root


def _compute_root(space: Embeddings, lam: float) -> Floats:
    if lam == 0:
        return np.eye(space.dim)
    total = np.zeros(space.dim)
    for start in range(0, space.size, 16_384):
        total += space.vectors[start : start + 16_384].sum(axis=0, dtype=np.float64)
    mean = total / space.size
    scatter = np.zeros((space.dim, space.dim))
    for start in range(0, space.size, 16_384):
        centred = space.vectors[start : start + 16_384] - mean
        scatter += centred.T @ centred
    trace = np.trace(scatter)
    if not trace > 0:
        raise ParameterError(
            f"The vectors of {space.name} do not vary, so they have no covariance. Use lam=0 or"
            " other vectors."
        )
    mixed = lam * scatter * (space.dim / trace) + (1 - lam) * np.eye(space.dim)
    values, basis = np.linalg.eigh(mixed)
    if values[0] <= 1e-12:
        raise ParameterError(
            f"The covariance of {space.name} is singular, so lam={lam:g} would leave a direction"
            " without noise. Use a smaller lam."
        )
    root: Floats = (basis * np.sqrt(values)) @ basis.T
    return root
