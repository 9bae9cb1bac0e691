"""Learn relevance and sensitivity together."""

from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.sensitive.candidates import Retriever
from veil.sensitive.crossfit import SAYS, Examples, Scorer, TwoWay, logits
from veil.sensitive.lambdamart import lambdamart
from veil.sensitive.learnt import MODEL, Learnt
from veil.sensitive.strategies.demoted import MONOTONE
from veil.sensitive.strategy import Scene, Searcher, Strategy

_GRADES = 5  # above the highest grade of any collection we know


class Joint(Strategy):
    """Order by LambdaMART with label 0 for sensitive and 1 + grade for other documents.

    The gains of the labels are 0, C, C + 1, C + 3, ...: putting a sensitive document above a
    harmless one costs as much as CS-DCG says. Features: BM25, its share of the best, 1/rank, the
    cosine of an encoder, and the log-odds of p, each monotone.

    References
    ----------
    Sayed, Oard. Jointly Modeling Relevance and Sensitivity for Search Among Sensitive Content.
    SIGIR 2019. doi:10.1145/3331184.3331256
    """

    name: ClassVar[str] = "joint"

    cost: Annotated[
        float,
        Field(ge=0, le=1e6, description="of one sensitive document shown",
              json_schema_extra=PRIVATE),
    ] = 12.0  # fmt: skip
    encoder: Annotated[str, Field(description="model of the cosine; or none")] = "wordllama"

    @property
    def learns(self) -> bool:
        """To order, or to expect a gain."""
        return True

    @property
    def guarantee(self) -> Guarantee:
        """Nothing."""
        return Guarantee(
            "none",
            unit="document",
            caveat="Sensitive documents are moved down, not withheld." + MODEL,
        )

    def open(self, scene: Scene) -> Searcher:
        """Prepare models, which are fitted when they are first needed."""
        retriever = Retriever(scene.collection, self.encoder)
        fit = partial(_fit, cost=self.cost)
        models = TwoWay(scene.collection, retriever, fit, logits(scene.p))
        return Learnt(scene, retriever, models, (SAYS,))


def _fit(examples: Examples, cost: float) -> Scorer:
    labels = np.where(examples.sensitive == 1, 0, 1 + np.minimum(examples.grades, _GRADES))
    gains = [0.0, *(cost + 2.0**grade - 1 for grade in range(_GRADES + 1))]
    return lambdamart(examples, labels, gains, MONOTONE)
