"""The list of the highest expected CS-DCG, exactly."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError, MissingExtraError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.sensitive.candidates import Retriever
from veil.sensitive.inputs import check_k, prices_of, probabilities_of
from veil.sensitive.measures import discounts
from veil.sensitive.mechanism import Answer, Mechanism, Scene, Searcher, rank_answer
from veil.sensitive.mechanisms.learnt import MODEL, SAYS, TwoWay, expected_gain


def optimum(
    gains: ArrayLike,
    probabilities: ArrayLike,
    k: int = 10,
    cost: float = 12.0,
    *,
    fill: bool = False,
) -> list[int]:
    r"""Return the positions of at most k documents, best first, that maximise expected CS-DCG.

    .. math:: \max \sum_i e_{d(i)}/\log_2(i + 1) - C\,p_{d(i)}

    an assignment of documents to ranks, solved exactly. A rank may stay empty, unless `fill`
    asks for as many as there are. Of documents alike in gain and probability the earlier one is
    taken. A document with an unknown (nan) probability, or with probability 1, is never taken.

    Notes
    -----
    Exact for its inputs only: it seeks the lowest probabilities, where an error of calibration
    costs most.

    >>> optimum([3.0, 1.0, 3.0], [0.5, 0.0, 0.0], k=2)
    [2, 1]
    """
    k = check_k(k)
    prices = prices_of(cost, 0.0, "collection", 1.0)
    try:
        gain = np.asarray(gains, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Expected gains must be finite numbers >= 0 in one row.") from None
    if gain.ndim != 1 or not np.isfinite(gain).all() or (gain < 0).any():
        raise InputError("Expected gains must be finite numbers >= 0 in one row.")
    p = probabilities_of(probabilities, len(gain))
    places = np.flatnonzero(p < 1)  # neither certain nor unknown
    if not len(places):
        return []
    values = gain[places, None] * discounts(k) - prices.cost * p[places, None]
    chosen = _assigned(values, k, fill=fill)
    return _earliest(places[chosen], gain, p)


def _assigned(values: Floats, k: int, *, fill: bool) -> np.ndarray:
    """Return the rows (documents) that an optimal assignment takes."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise MissingExtraError("optimum needs scipy: pip install 'veil[ml]'.") from None
    rows = len(values)
    # Filled, the first ranks are taken; else there are k empty documents of value 0, too.
    first = values[:, : min(k, rows)]
    values = first if fill else np.concatenate([values, np.zeros((k, k))])
    taken, slots = linear_sum_assignment(values, maximize=True)
    useful = (taken < rows) & (fill | (values[taken, slots] > 0))
    return np.asarray(taken[useful], dtype=np.int64)


def _earliest(taken: np.ndarray, gain: Floats, p: Floats) -> list[int]:
    """Order by gain, and exchange documents for earlier ones that are alike."""
    alike: dict[tuple[float, float], list[int]] = {}
    for place in np.flatnonzero(np.isin(gain, gain[taken])).tolist():
        alike.setdefault((gain[place], p[place]), []).append(place)
    used = {key: iter(own) for key, own in alike.items()}
    earlier: Sequence[int] = [next(used[gain[place], p[place]]) for place in sorted(taken)]
    return sorted(earlier, key=lambda place: (-gain[place], place))


class Optimum(Mechanism):
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
        return rank_answer(places[chosen], total)


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
