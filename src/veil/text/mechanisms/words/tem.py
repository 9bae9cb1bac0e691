"""TEM: the truncated exponential mechanism."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.text.mechanisms.mechanism import Epsilon, WordMechanism
from veil.text.mechanisms.words.cmp import NEAR
from veil.text.mechanisms.words.kernels import ExponentialKernel
from veil.text.vectors.embeddings import Embeddings


class TEM(WordMechanism):
    r"""Draw a word by its distance; all words beyond a threshold are equally likely.

    .. math:: \Pr[M(w)=y] \propto e^{-\frac{1}{2}\varepsilon \min(d(w, y), \gamma)}, \quad
       \gamma = \frac{2}{\varepsilon} \ln\frac{(1-\beta)(|V|-1)}{\beta}

    Proved: metric DP for the chosen metric.

    References
    ----------
    Carvalho, Vasiloudis, Feyisetan, Wang. TEM: High Utility Metric Differential Privacy on Text.
    SDM 2023, Algorithm 1. doi:10.1137/1.9781611977653.ch99

    Notes
    -----
    The paper adds Gumbel noise of scale 2/epsilon to -d for the words within gamma, and to one
    more element that represents all others. If that element wins, one of the others is drawn
    uniformly. By the Gumbel-max property this is the closed form above, which is sampled here. The
    tests compare the two.
    """

    name: ClassVar[str] = "tem"
    paper: ClassVar[str] = "Carvalho et al., SDM 2023"
    family: ClassVar[str] = "Sampling"

    epsilon: Epsilon
    beta: Annotated[
        float,
        Field(
            gt=0,
            lt=1,
            description="sets the threshold gamma",
            examples=[0.001],
            json_schema_extra=PRIVATE,
        ),
    ] = 0.001
    metric: Annotated[
        Literal["euclidean", "angular"],
        Field(description="distance between the vectors; angular: their angle in radians"),
    ] = "euclidean"

    @property
    def guarantee(self) -> Guarantee:
        """Metric DP under the chosen metric."""
        return Guarantee("metric-dp", self.epsilon, self.metric, caveat=NEAR)

    def gamma(self, words: int) -> float:
        """Return the threshold beyond which words are equally likely."""
        ratio = math.log1p(-self.beta) - math.log(self.beta) + math.log(words - 1)
        return 2 / self.epsilon * ratio

    def bind(self, space: Embeddings) -> ExponentialKernel:
        """Compute the threshold."""
        if space.size < 2:
            raise ParameterError(
                f"tem needs at least 2 words to draw from. {space.name} has {space.size}."
            )
        return ExponentialKernel(
            space,
            str(self),
            slope=self.epsilon / 2,
            metric=self.metric,
            cap=self.gamma(space.size),
        )
