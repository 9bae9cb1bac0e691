"""SanText and SanText+: draw a word with a probability that decreases with distance."""

import math
from typing import Annotated, ClassVar

from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.text.mechanisms.mechanism import Epsilon, WordMechanism
from veil.text.mechanisms.words.cmp import NEAR
from veil.text.mechanisms.words.kernels import ExponentialKernel
from veil.text.vectors.embeddings import Embeddings


class SanText(WordMechanism):
    r"""Draw a word with a probability that decreases exponentially with its distance.

    .. math:: \Pr[M(w)=y] \propto e^{-\frac{1}{2}\varepsilon\, d(w, y)}, \quad y \in V

    Proved: metric DP for the Euclidean distance of the vectors.

    With `sensitive_share` < 1 this is SanText+: the rarest share of the vocabulary (words are in
    order of frequency) is sensitive. A sensitive word is replaced by a sensitive word. Any other
    word is kept with probability 1-p and otherwise replaced by a sensitive word. Proved:
    utility-optimised metric LDP, :math:`\varepsilon d(w, w') + \ln(1/p)` for every sensitive
    output. A word that is kept reveals itself.

    References
    ----------
    Yue, Du, Wang, Li, Sun, Chow. Differential Privacy for Text Analytics via Natural Text
    Sanitization. Findings of ACL 2021, Algorithms 1 and 2.
    doi:10.18653/v1/2021.findings-acl.337
    """

    name: ClassVar[str] = "santext"
    paper: ClassVar[str] = "Yue et al., Findings of ACL 2021"
    family: ClassVar[str] = "Sampling"

    epsilon: Epsilon
    sensitive_share: Annotated[
        float,
        Field(
            gt=0,
            le=1,
            description="rarest share of the vocabulary, which is sensitive; below 1: SanText+",
            json_schema_extra=PRIVATE,
        ),
    ] = 1.0
    p: Annotated[
        float,
        Field(
            ge=1e-6,
            le=1,
            description="SanText+: probability of replacing a word that is not sensitive",
            json_schema_extra=PRIVATE,
        ),
    ] = 0.3

    @property
    def guarantee(self) -> Guarantee:
        """Metric DP, or its utility-optimised form."""
        if self.sensitive_share == 1:
            return Guarantee("metric-dp", self.epsilon, "euclidean", caveat=NEAR)
        return Guarantee(
            "umldp",
            self.epsilon,
            "euclidean",
            caveat=f"A word outside the rarest {self.sensitive_share:.0%} of the vocabulary is"
            f" released unchanged with probability {1 - self.p:g}. {NEAR}",
            additive=math.log(1 / self.p),
        )

    def bind(self, space: Embeddings) -> ExponentialKernel:
        """Return the kernel, which computes rows of words when they are needed."""
        sensitive = math.ceil(self.sensitive_share * space.size)
        if sensitive < 2:
            raise ParameterError(
                f"A sensitive_share of {self.sensitive_share:g} leaves {sensitive} sensitive word"
                f" of the {space.size} of {space.name}, which could only be replaced by itself."
                " Use a larger share."
            )
        return ExponentialKernel(
            space,
            str(self),
            slope=self.epsilon / 2,
            first=space.size - sensitive,
            p=self.p,
        )
