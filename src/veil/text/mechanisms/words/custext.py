"""CusText: draw among a small set of candidates of the word."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.text.mechanisms.words.groups import groups
from veil.text.mechanisms.words.kernels import Candidates, Near, Shortlist
from veil.text.mechanisms.words.mechanism import Epsilon, WordMechanism
from veil.text.vectors.distances import between, distances, smallest
from veil.text.vectors.embeddings import Embeddings


class CusText(WordMechanism):
    r"""Draw among the word's candidates, the nearer the likelier.

    .. math:: \Pr[M(w)=y] \propto e^{\frac{1}{2}\varepsilon u(w, y)}, \quad
       u = \frac{d_{max} - d(w, y)}{d_{max} - d_{min}}

    over the K candidates y of w, w itself among them.

    ``mapping='partition'`` is the paper's: the vocabulary is cut into groups of K, in order of
    frequency; a word without a group takes its K-1 nearest words without a group, and all of them
    share that set. Proved then: eps-DP between the words of one group, nothing across groups: the
    group of a word is visible in every output. CusText+ is this with ``select='content'``.

    ``mapping='neighbours'`` gives each word its own K nearest words, as the authors of pyPANTERA
    do. **Nothing is proved** then: the candidate sets differ between words.

    References
    ----------
    Chen, Mo, Wang, Chen, Cui, Zhang, Qin. A Customized Text Sanitization Mechanism with
    Differential Privacy. Findings of ACL 2023, Algorithms 1 and 2.
    doi:10.18653/v1/2023.findings-acl.355

    Notes
    -----
    The words left over at the end form one smaller group; a single one joins the group before it,
    because alone it could only be released as it is. When all candidates are equally far, all are
    equally likely.
    """

    name: ClassVar[str] = "custext"
    paper: ClassVar[str] = "Chen et al., Findings of ACL 2023"
    family: ClassVar[str] = "Sampling"

    epsilon: Epsilon
    k: Annotated[
        int,
        Field(
            ge=2,
            description="number of candidates, the word included",
            examples=[20],
            json_schema_extra=PRIVATE,
        ),
    ] = 20
    mapping: Annotated[
        Literal["partition", "neighbours"],
        Field(description="groups shared by their words, or each word's own neighbours"),
    ] = "partition"
    metric: Annotated[
        Literal["euclidean", "cosine"], Field(description="distance between the vectors")
    ] = "euclidean"

    @property
    def guarantee(self) -> Guarantee:
        """DP within a group, or nothing."""
        if self.mapping == "neighbours":
            return Guarantee(
                "none",
                caveat=f"The nominal epsilon is {self.epsilon:g}, but each word has candidates of"
                " its own, so that one output can rule a word out for certain.",
            )
        return Guarantee(
            "group-dp",
            self.epsilon,
            "words of one group",
            caveat=f"Holds between the words of one group of about {self.k} only; which group the"
            " word belongs to is visible in every output.",
        )

    def bind(self, space: Embeddings) -> Shortlist:
        """Cut the vocabulary into groups, or check that there are enough neighbours."""
        if self.k > space.size:
            raise ParameterError(
                f"The 'k' parameter of custext must be <= {space.size}, the number of words of"
                f" {space.name}. Got {self.k} instead."
            )
        if self.mapping == "partition":
            return Shortlist(space, str(self), self._grouped(space))
        near = Near(self.metric, self.k, self._weigh)
        return Shortlist(space, str(self), self._own(space), near)

    def _grouped(self, space: Embeddings) -> Candidates:
        shared = groups(space, self.k, self.metric)

        def shortlist(ids: Ids) -> tuple[Ids, Floats]:
            members = shared.members(ids)
            gaps = between(space, ids, np.maximum(members, 0), self.metric)
            gaps[members < 0] = np.nan
            return np.maximum(members, 0), 0.5 * self.epsilon * _score(gaps)

        return shortlist

    def _own(self, space: Embeddings) -> Candidates:
        def shortlist(ids: Ids) -> tuple[Ids, Floats]:
            values = distances(space, ids, self.metric)
            values[np.arange(len(ids)), ids] = -1  # the word is its own first candidate
            candidates = smallest(values, self.k)
            return self._weigh(candidates, np.take_along_axis(values, candidates, axis=1))

        return shortlist

    def _weigh(self, nearest: Ids, gaps: Floats) -> tuple[Ids, Floats]:
        """Return the nearest words with their log-weights."""
        return nearest, 0.5 * self.epsilon * _score(np.maximum(gaps, 0))


def _score(gaps: Floats) -> Floats:
    """Scale distances to scores: 1 for the nearest, 0 for the farthest; -inf for padding (nan)."""
    low = np.nanmin(gaps, axis=1, keepdims=True)
    high = np.nanmax(gaps, axis=1, keepdims=True)
    spread = high - low
    score: Floats = np.divide(high - gaps, spread, out=np.ones_like(gaps), where=spread > 0)
    score[np.isnan(gaps)] = -np.inf
    return score
