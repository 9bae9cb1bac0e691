"""The list with the highest expected CS-DCG, exactly."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field
from typing_extensions import override

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

    It is an assignment of documents to ranks, solved exactly. Ranks may stay empty, unless `fill`
    requires as many documents as possible. Of documents with equal gain and probability, the
    earlier one is taken. Documents with an unknown (nan) probability or probability 1 never are.

    Notes
    -----
    Exact only for its inputs: it seeks the lowest probabilities, where calibration errors cost
    most.

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
    selected = _assigned(values, k, fill=fill)
    return _earliest(places[selected], gain, p)


def _assigned(values: Floats, k: int, *, fill: bool) -> np.ndarray:
    """Return the rows (documents) of an optimal assignment."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise MissingExtraError("optimum needs scipy: pip install 'veil[ml]'.") from None
    rows = len(values)
    # With `fill`, all of the first ranks are used; otherwise k empty documents of value 0 compete.
    first = values[:, : min(k, rows)]
    values = first if fill else np.concatenate([values, np.zeros((k, k))])
    taken, slots = linear_sum_assignment(values, maximize=True)
    useful = (taken < rows) & (fill | (values[taken, slots] > 0))
    return np.asarray(taken[useful], dtype=np.int64)


def _earliest(taken: np.ndarray, gain: Floats, p: Floats) -> list[int]:
    """Order by gain, and replace documents by earlier equal ones."""
    alike: dict[tuple[float, float], list[int]] = {}
    for place in np.flatnonzero(np.isin(gain, gain[taken])).tolist():
        alike.setdefault((gain[place], p[place]), []).append(place)
    used = {key: iter(own) for key, own in alike.items()}
    earlier: Sequence[int] = [next(used[gain[place], p[place]]) for place in sorted(taken)]
    return sorted(earlier, key=lambda place: (-gain[place], place))


class Optimum(Mechanism):
    """Return the list with the highest expected CS-DCG, which may be short or empty.

    The expected gain of a document uses only BM25 and a cosine, cross-fitted both ways. Its
    features do not include p, because sensitive documents are often relevant, and the gain would
    move them up. Exact only for these inputs: the list seeks the lowest p, where calibration
    errors cost most, so it is not filled by default.
    """

    name: ClassVar[str] = "optimum"

    cost: Annotated[
        float,
        Field(ge=0, le=1e6, description="of one sensitive document shown",
              json_schema_extra=PRIVATE),
    ] = 12.0  # fmt: skip
    fill: Annotated[bool, Field(description="show as many as possible, at any cost")] = False
    encoder: Annotated[str, Field(description="model of the cosine; or none")] = "wordllama"

    @property
    @override
    def learns(self) -> bool:
        return True

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit="document",
            caveat="Best for its probabilities, which can be wrong." + MODEL,
        )

    @override
    def open(self, scene: Scene) -> Searcher:
        retriever = Retriever(scene.collection, self.encoder)
        return _Expected(
            scene, retriever, TwoWay(scene.collection, retriever, expected_gain), self
        )


class _Expected(Searcher):
    def __init__(self, scene: Scene, retriever: Retriever, models: TwoWay, spec: Optimum) -> None:
        self._scene, self._retriever, self._models, self._spec = scene, retriever, models, spec
        self.notes = (SAYS, *_calibration(scene))

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        candidates = self._retriever.find(query)
        gains = self._models.scores(candidates, topic)
        order = np.argsort(candidates.positions)  # ties go to the earlier document
        places = candidates.positions[order]
        spec = self._spec
        selected = optimum(gains[order], self._scene.p[places], k, spec.cost, fill=spec.fill)
        total = int((candidates.scores[self._scene.open] > 0).sum())
        return rank_answer(places[selected], total)


def _calibration(scene: Scene) -> tuple[str, ...]:
    """Return a note on the calibration of the lowest tenth of p, if any is known."""
    finite = scene.p[~np.isnan(scene.p)]
    if not len(finite):
        return ()
    low = scene.p <= np.quantile(finite, 0.1)  # False for nan
    true = (scene.collection.sensitive[low] == 1).mean()
    return (
        f"Among the tenth of documents with the lowest p, the mean p is {scene.p[low].mean():.4f}"
        f" and the share of sensitive documents is {true:.4f}.",
    )
