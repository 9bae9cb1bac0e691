"""Mechanisms that learn relevance and sensitivity, by LambdaMART.

Models are cross-fitted both ways: each scores a topic and a document that it was not trained on.
The same documents are candidates of every topic. With folds over topics only, a tree learns single
documents by their features, especially p, and figures are too high: nCS-DCG .947 instead of
.923 for the joint model on SARA. So models leave out a fold of topics and a fold of documents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.sensitive.candidates import Candidates, Retriever, best, matcher, retrieve_all
from veil.sensitive.classifiers.boosting import LIGHT, lightgbm
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import copies, folds_of
from veil.sensitive.mechanism import (
    WITHHELD,
    Answer,
    Mechanism,
    Presets,
    Scene,
    Searcher,
    rank_answer,
)

FOLDS = 5
SAYS = (
    "Models were cross-fitted both ways: each scored a document for a topic without being trained"
    " on that topic, or on that document, its copies and the others of its fold."
)


class Scorer(Protocol):
    """A fitted model."""

    def __call__(self, features: Floats) -> Floats:
        """Return a value (m,) for each row (m, d)."""
        ...


@dataclass(frozen=True, eq=False)
class Examples:
    """Training rows, query by query.

    Attributes
    ----------
    features, grades, sensitive
        (m, d), (m,) and (m,).
    sizes
        Number of rows of each query.
    """

    features: Floats
    grades: Ids
    sensitive: Ids
    sizes: list[int]


Fit = Callable[[Examples], Scorer]


class TwoWay:
    """Cross-fitted models of one kind, trained on first use and cached."""

    def __init__(
        self,
        collection: SensitiveCollection,
        retriever: Retriever,
        fit: Fit,
        extra: Floats | None = None,
    ) -> None:
        labels = collection.sensitive
        if (labels < 0).any() or not collection.judgements:
            raise InputError(
                "A mechanism that learns needs judgements, and labels of all documents. Add them."
            )
        self._collection, self._fit, self._extra = collection, fit, extra
        groups = copies(collection.documents.texts)
        self._documents = folds_of(labels, groups, FOLDS, generator(0))
        topics = sorted(collection.judged_topics)
        order = generator(1).permutation(len(topics))
        self._topics = {topics[place]: at % FOLDS for at, place in enumerate(order.tolist())}
        names = [query for query in collection.queries if collection.judgements.get(query)]
        self._of = [collection.topic(query) for query in names]
        self._candidates = retrieve_all(retriever, [collection.queries[query] for query in names])
        self._models: dict[tuple[int, int], Scorer] = {}

    def scores(self, candidates: Candidates, topic: str) -> Floats:
        """Return the value of each candidate of a query, by models trained without either."""
        values = np.empty(len(candidates.positions))
        fold = self._topics.get(topic, -1)  # -1 leaves out no topic
        own = self._documents[candidates.positions]
        for number in np.unique(own).tolist():
            rows = own == number
            values[rows] = self._model(fold, number)(self._rows(candidates, rows))
        return values

    def _rows(self, candidates: Candidates, rows: np.ndarray) -> Floats:
        if self._extra is None:
            return np.asarray(candidates.features[rows])
        column = self._extra[candidates.positions[rows]]
        return np.concatenate([candidates.features[rows], column[:, None]], axis=1)

    def _model(self, fold: int, number: int) -> Scorer:
        if (fold, number) not in self._models:
            self._models[fold, number] = self._fit(self._examples(fold, number))
        return self._models[fold, number]

    def _examples(self, fold: int, number: int) -> Examples:
        """Return the candidates of other topics among documents of other folds."""
        features, sensitive, sizes = [], [], []
        grades: list[int] = []
        for topic, candidates in zip(self._of, self._candidates, strict=True):
            rows = self._documents[candidates.positions] != number
            if self._topics[topic] == fold or not rows.any():
                continue
            judged = self._collection.judged_topics[topic]
            places = candidates.positions[rows]
            features.append(self._rows(candidates, rows))
            grades.extend(max(0, judged.get(place, 0)) for place in places.tolist())
            sensitive.append(self._collection.sensitive[places])
            sizes.append(int(rows.sum()))
        if not sizes:
            raise InputError(
                "Two-way folds need at least five topics. Add queries of other topics."
            )
        return Examples(
            np.concatenate(features),
            np.array(grades, dtype=np.int64),
            np.concatenate(sensitive).astype(np.int64),
            sizes,
        )


def logits(p: Floats) -> Floats:
    """Return finite log-odds of probabilities; nan counts as 1."""
    clipped = np.clip(np.nan_to_num(p, nan=1.0), 1e-6, 1 - 1e-6)
    odds: Floats = np.log(clipped / (1 - clipped))
    return odds


TREES, _LEAVES, _RATE = 120, 15, 0.05


def lambdamart(
    examples: Examples, labels: Ids, gains: Sequence[float], monotone: Sequence[int]
) -> Scorer:
    """Fit a ranking to labels with these gains; `monotone` has the direction of each feature.

    References
    ----------
    Burges. From RankNet to LambdaRank to LambdaMART: An Overview. MSR-TR-2010-82.
    """
    options = LIGHT | {
        "objective": "lambdarank",
        "label_gain": list(gains),
        "num_leaves": _LEAVES,
        "learning_rate": _RATE,
        "lambdarank_truncation_level": 10,
        "monotone_constraints": list(monotone),
    }
    data = lightgbm().Dataset(
        examples.features, label=labels, group=examples.sizes, params={"verbose": -1}
    )
    return _scorer(lightgbm().train(options, data, TREES))


def expected_gain(examples: Examples) -> Scorer:
    """Fit the expected gain 2^grade - 1 to relevance features; never below 0."""
    options = LIGHT | {
        "objective": "regression",
        "num_leaves": 7,
        "learning_rate": _RATE,
        "min_data_in_leaf": 50,
        "monotone_constraints": [1] * examples.features.shape[1],
    }
    gains = 2.0**examples.grades - 1
    data = lightgbm().Dataset(examples.features, label=gains, params={"verbose": -1})
    model = _scorer(lightgbm().train(options, data, TREES))
    return lambda features: np.maximum(model(features), 0)


def _scorer(model: Any) -> Scorer:  # noqa: ANN401 - it has no types
    def score(features: Floats) -> Floats:
        return np.asarray(model.predict(features), dtype=np.float64)

    return score


MODEL = f" Order and models depend on withheld documents. {WITHHELD}"


class Learnt(Searcher):
    """Orders the candidates of a query by cross-fitted models; ties by document order."""

    def __init__(
        self, scene: Scene, retriever: Retriever, models: TwoWay, notes: tuple[str, ...]
    ) -> None:
        self._open, self._retriever, self._models = scene.open, retriever, models
        self.notes = notes

    @override
    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        candidates = self._retriever.find(query)
        values: Floats = self._models.scores(candidates, topic)
        order = np.lexsort((candidates.positions, -values))
        places = candidates.positions[order]
        shown = places[self._open[places]][:k]
        return rank_answer(shown, int((candidates.scores[self._open] > 0).sum()))


MONOTONE = (1, 1, 1, 1, -1)  # increasing in relevance, decreasing in sensitivity


class Demoted(Mechanism):
    """Rank by BM25 times (1 - p)^beta, or by trees that treat sensitive as not relevant.

    Only human labels withhold documents: a sensitive document moves down, and is shown if too few
    others match.
    """

    name: ClassVar[str] = "demoted"
    presets: ClassVar[Presets | None] = Presets(
        "demoted(beta={})", "move down what is likely sensitive", "Weight of p ", 10.0, 1.0
    )

    beta: Annotated[
        float,
        Field(ge=0, le=100, description="weight of the probability", json_schema_extra=PRIVATE),
    ] = 1.0
    trained: Annotated[
        bool, Field(description="LambdaMART instead, with grade 0 for sensitive documents")
    ] = False
    encoder: Annotated[str, Field(description="model of the cosine, if trained; or none")] = (
        "wordllama"
    )

    @property
    @override
    def learns(self) -> bool:
        return self.trained

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit="document",
            caveat="Sensitive documents are moved down, not withheld." + MODEL,
        )

    @override
    def open(self, scene: Scene) -> Searcher:
        if not self.trained:
            return _Weighed(scene, self.beta)
        retriever = Retriever(scene.collection, self.encoder)
        models = TwoWay(scene.collection, retriever, _fit_demoted, logits(scene.p))
        return Learnt(scene, retriever, models, (SAYS,))


def _fit_demoted(examples: Examples) -> Scorer:
    labels = np.where(examples.sensitive == 1, 0, np.minimum(examples.grades, 30))
    gains = [2.0**grade - 1 for grade in range(31)]
    return lambdamart(examples, labels, gains, MONOTONE)


class _Weighed(Searcher):
    def __init__(self, scene: Scene, beta: float) -> None:
        self._matcher, self._open = matcher(scene.collection), scene.open
        self._weight: Floats = np.where(scene.open, 1 - scene.p, 0) ** beta

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        del topic
        scores = self._matcher.scores(query)
        shown = best(scores * self._weight, k, self._open)
        return rank_answer(shown, int((scores[self._open] > 0).sum()))


_GRADES = 5  # above the highest grade of known collections


class Joint(Mechanism):
    """Order by LambdaMART with label 0 for sensitive and 1 + grade for other documents.

    The gains of the labels are 0, C, C + 1, C + 3, ...: ranking a sensitive document above a
    harmless one costs as much as in CS-DCG. Features: BM25, its share of the best, 1/rank, the
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
    @override
    def learns(self) -> bool:
        return True

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit="document",
            caveat="Sensitive documents are moved down, not withheld." + MODEL,
        )

    @override
    def open(self, scene: Scene) -> Searcher:
        retriever = Retriever(scene.collection, self.encoder)
        fit = partial(_fit_joint, cost=self.cost)
        models = TwoWay(scene.collection, retriever, fit, logits(scene.p))
        return Learnt(scene, retriever, models, (SAYS,))


def _fit_joint(examples: Examples, cost: float) -> Scorer:
    labels = np.where(examples.sensitive == 1, 0, 1 + np.minimum(examples.grades, _GRADES))
    gains = [0.0, *(cost + 2.0**grade - 1 for grade in range(_GRADES + 1))]
    return lambdamart(examples, labels, gains, MONOTONE)
