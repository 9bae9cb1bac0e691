"""Show the list of the highest expected worth."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.sensitive.candidates import Retriever
from veil.sensitive.crossfit import SAYS, TwoWay
from veil.sensitive.lambdamart import expected_gain
from veil.sensitive.learnt import MODEL
from veil.sensitive.optimum import optimum
from veil.sensitive.strategy import Answer, Scene, Searcher, Strategy, ranked


class Optimum(Strategy):
    """Take the list with the highest expected CS-DCG, which may be short or empty.

    The expected gain of a document comes of BM25 and a cosine alone, cross-fitted both ways; p
    is not among its features, because sensitive documents are often relevant and a gain that knew
    p would pull them up. Exact for these inputs only: the list seeks the lowest p, where an error
    of calibration costs most, so it is not filled by default.
    """

    name: ClassVar[str] = "optimum"

    cost: Annotated[
        float,
        Field(ge=0, le=1e6, description="of one sensitive document shown",
              json_schema_extra=PRIVATE),
    ] = 12.0  # fmt: skip
    fill: Annotated[bool, Field(description="show as many as there are, whatever they cost")] = (
        False
    )
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
            caveat="Best for its probabilities, which can be wrong." + MODEL,
        )

    def open(self, scene: Scene) -> Searcher:
        """Prepare models of the gain, which are fitted when they are first needed."""
        retriever = Retriever(scene.collection, self.encoder)
        return _Expected(
            scene, retriever, TwoWay(scene.collection, retriever, expected_gain), self
        )


class _Expected(Searcher):
    def __init__(self, scene: Scene, retriever: Retriever, models: TwoWay, spec: Optimum) -> None:
        self._scene, self._retriever, self._models, self._spec = scene, retriever, models, spec
        self.notes = (SAYS, *_calibration(scene))

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        found = self._retriever.find(query)
        gains = self._models.scores(found, topic)
        order = np.argsort(found.positions)  # ties: the earlier document
        places = found.positions[order]
        spec = self._spec
        chosen = optimum(gains[order], self._scene.p[places], k, spec.cost, fill=spec.fill)
        total = int((found.scores[self._scene.open] > 0).sum())
        return ranked(places[chosen], total)


def _calibration(scene: Scene) -> tuple[str, ...]:
    """Say how the lowest tenth of the probabilities is calibrated, if any is known."""
    given = scene.p[~np.isnan(scene.p)]
    if not len(given):
        return ()
    low = scene.p <= np.quantile(given, 0.1)  # nan is not
    true = (scene.collection.sensitive[low] == 1).mean()
    return (
        f"In the tenth of documents with the lowest p, p says {scene.p[low].mean():.4f} and"
        f" {true:.4f} are sensitive.",
    )
