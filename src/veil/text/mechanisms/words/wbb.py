"""WBB: words blending boxes."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.text.mechanisms.mechanism import Epsilon, WordMechanism
from veil.text.mechanisms.words.kernels import CandidateKernel, NearestCandidates
from veil.text.vectors.distances import distances, smallest
from veil.text.vectors.embeddings import Embeddings

_METRICS = {"angle": "cosine", "distance": "euclidean", "product": "product"}


class WBB(WordMechanism):
    r"""Draw one of the words just outside a safe box around the word.

    The words are sorted by their distance m from w. The first k, which include w, are the safe box
    and are never drawn. The next n are the candidates C.

    .. math:: \Pr[M(w)=y] \propto e^{\frac{1}{2}\varepsilon u(w, y)}, \quad
       u = \frac{1}{1 + e^{Z}}, \quad Z = \frac{m(w,y) - \mathrm{mean}_C}{\mathrm{std}_C}

    **Not proved**: the paper states eps-DP, but bounds only u. Two words have different
    candidates. A candidate of only one of them is possible for that word and impossible for the
    other, so the ratio is unbounded.

    References
    ----------
    De Faveri, Faggioli, Ferro. Words Blending Boxes. Obfuscating Queries in Information
    Retrieval using Differential Privacy. 2024, Algorithm 1 and equations (4) and (6).

    Notes
    -----
    The paper defines Z with a similarity, but only a distance agrees with its text and its code.
    The authors' code uses weights proportional to eps*u/2 itself, so that eps cancels:
    ``weights='linear'``. Nouns and adjectives are protected (`select`), as in the paper.
    """

    name: ClassVar[str] = "wbb"
    paper: ClassVar[str] = "De Faveri et al., 2024"
    family: ClassVar[str] = "Sampling"
    select: ClassVar[str] = "pos:NN NNS NNP NNPS JJ JJS"

    epsilon: Epsilon
    k: Annotated[
        int,
        Field(
            ge=1,
            description="size of the safe box, including the word",
            examples=[4],
            json_schema_extra=PRIVATE,
        ),
    ] = 4
    n: Annotated[
        int,
        Field(
            ge=1,
            description="number of candidates",
            examples=[15],
            json_schema_extra=PRIVATE,
        ),
    ] = 15
    metric: Annotated[
        Literal["angle", "distance", "product"],
        Field(description="cosine distance, Euclidean distance, or their product"),
    ] = "angle"
    weights: Annotated[
        Literal["exponential", "linear"],
        Field(description="the paper's equation (6), or the authors' code, where epsilon cancels"),
    ] = "exponential"

    @property
    def guarantee(self) -> Guarantee:
        """No guarantee: see the class."""
        linear = " With linear weights epsilon has no effect at all." * (self.weights == "linear")
        return Guarantee(
            "none",
            caveat=f"The paper states eps-DP with epsilon {self.epsilon:g}, but two words with"
            " different candidate boxes have different possible outputs, so one output can rule"
            f" out a word with certainty.{linear}",
        )

    def bind(self, space: Embeddings) -> CandidateKernel:
        """Check that there are enough words for both boxes."""
        if self.k + self.n > space.size:
            raise ParameterError(
                f"The 'k' and 'n' parameters of wbb must add up to at most {space.size}, the"
                f" number of words of {space.name}. Got {self.k} + {self.n} instead."
            )

        metric, depth = _METRICS[self.metric], self.k + self.n

        def shortlist(ids: Ids) -> tuple[Ids, Floats]:
            values = distances(space, ids, metric)
            values[np.arange(len(ids)), ids] = -1  # first in its own safe box despite any ties
            nearest = smallest(values, depth)
            return self._weigh(nearest, np.take_along_axis(values, nearest, axis=1))

        near = None if metric == "product" else NearestCandidates(metric, depth, self._weigh)
        return CandidateKernel(space, str(self), shortlist, near)

    def _weigh(self, nearest: Ids, values: Floats) -> tuple[Ids, Floats]:
        """Return the words outside the safe box, with their log-weights."""
        outside = slice(self.k, None)
        scores = self._utility(values[:, outside])
        if self.weights == "linear":
            return nearest[:, outside], np.log(scores)
        return nearest[:, outside], 0.5 * self.epsilon * scores

    def _utility(self, values: Floats) -> Floats:
        """Return u of equation (4); it is constant if all candidates are at the same distance."""
        spread = values.std(axis=1, keepdims=True)
        centred = values - values.mean(axis=1, keepdims=True)
        z = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
        utility: Floats = 1 / (1 + np.exp(z))
        return utility
