"""CMP: calibrated multivariate perturbation."""

from typing import ClassVar

from veil.core.guarantee import Guarantee
from veil.core.rng import laplace_ball
from veil.text.mechanisms.mechanism import Epsilon, WordMechanism
from veil.text.mechanisms.words.kernels import NoiseKernel
from veil.text.vectors.embeddings import Embeddings


class CMP(WordMechanism):
    r"""Add noise to the word's vector and release the word nearest to the sum.

    .. math:: x = \phi(w) + z, \quad p(z) \propto e^{-\varepsilon \lVert z \rVert_2}

    Proved: metric DP for the Euclidean distance of the vectors. Finding the nearest word is
    post-processing and costs nothing.

    References
    ----------
    Feyisetan, Balle, Drake, Diethe. Privacy- and Utility-Preserving Textual Analysis via
    Calibrated Multivariate Perturbations. WSDM 2020, Algorithm 1. doi:10.1145/3336191.3371856
    """

    name: ClassVar[str] = "cmp"
    paper: ClassVar[str] = "Feyisetan et al., WSDM 2020"
    family: ClassVar[str] = "Embedding perturbation"

    epsilon: Epsilon

    @property
    def guarantee(self) -> Guarantee:
        """Metric DP under the Euclidean distance."""
        return Guarantee("metric-dp", self.epsilon, "euclidean", caveat=NEAR)

    def bind(self, space: Embeddings) -> NoiseKernel:
        """Return the kernel, which needs no precomputation."""
        return NoiseKernel(space, lambda n, rng: laplace_ball(n, space.dim, self.epsilon, rng))


NEAR = "Words whose vectors are far apart may still be told apart: the bound grows with distance."
