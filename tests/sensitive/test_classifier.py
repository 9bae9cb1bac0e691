"""Classifiers: folds, calibration, what they see, and that they learn at all."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from tests.sensitive.office import LIFE, WORK, office

from veil import sensitive
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.core.rng import generator
from veil.corpus.collection import Document
from veil.sensitive.classifiers import Classifier, Fitted
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import copies, fit_calibrated, folds_of, platt
from veil.sensitive.features import Features, Mail, Numbers, attachments, metadata, style, temporal
from veil.sensitive.measures import auc, average_precision, brier, calibration_error

pytest.importorskip("sklearn")
pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def col(tmp_path_factory: pytest.TempPathFactory) -> SensitiveCollection:
    return office(tmp_path_factory.mktemp("office"))


def test_copies_are_in_one_fold_and_classes_are_spread() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 150, 300)
    labels = (groups % 5 == 0).astype(np.int8)
    fold = folds_of(labels, groups, 5, generator(1))
    assert all(len(set(fold[groups == group])) == 1 for group in set(groups.tolist()))
    hot = np.bincount(fold, labels)
    assert hot.max() - hot.min() <= 6
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= 12
    assert (fold == folds_of(labels, groups, 5, generator(1))).all()


def test_texts_that_begin_alike_are_copies() -> None:
    long = "The same beginning, " * 20
    assert copies([long + "x", long.upper() + "y", "else"]).tolist() == [0, 0, 1]


def test_a_fold_needs_both_classes() -> None:
    labels = np.array([1, 0, 0, 0, 0, 0], dtype=np.int8)
    with pytest.raises(InputError, match="must have both classes"):
        folds_of(labels, np.arange(6), 3, generator(0))
    with pytest.raises(ParameterError, match="'folds'"):
        folds_of(labels, np.arange(6), 1, generator(0))


def test_platt_finds_the_law_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-(2 * scores - 1)))).astype(np.int8)
    actual = platt(scores, labels)
    assert actual.slope == pytest.approx(2, abs=0.1)
    assert actual.offset == pytest.approx(-1, abs=0.1)
    edge = actual.apply(np.array([-1e9, 1e9]))
    assert 0 < edge[0] < edge[1] < 1  # certainty is a human's


def test_calibration_is_fitted_to_scores_of_models_that_left_out() -> None:
    """A model that knows its training labels by heart, and nothing else, is worth nothing."""
    labels = (np.arange(60) % 3 == 0).astype(np.int8)
    rows = np.arange(60)

    class Memory(Fitted):
        def __init__(self, known: np.ndarray) -> None:
            self._known = known

        def scores(self, numbers: Numbers, rows: np.ndarray) -> np.ndarray:
            del numbers
            return np.where(np.isin(rows, self._known), 10.0 * labels[rows], 0.0)

    class Rote(Classifier):
        name: ClassVar[str] = "rote"
        features: Features = "context"

        def fit(self, numbers: Numbers, rows: np.ndarray, labels: np.ndarray) -> Fitted:
            return Memory(rows)

    nothing = Numbers(None, None, np.zeros(60))
    model, scale = fit_calibrated(Rote(), nothing, rows, labels, rows // 3 % 4)
    p = scale.apply(model.scores(nothing, rows))
    assert p.max() < 0.9


def test_measures_of_probabilities_are_those_of_scikit_learn() -> None:
    from sklearn import metrics

    rng = np.random.default_rng(0)
    p = rng.random(200).round(1)
    labels = (rng.random(200) < p).astype(np.int8)
    assert auc(p, labels) == pytest.approx(metrics.roc_auc_score(labels, p))
    assert average_precision(p, labels) == pytest.approx(
        metrics.average_precision_score(labels, p)
    )
    assert brier(p, labels) == pytest.approx(metrics.brier_score_loss(labels, p))
    assert calibration_error(np.full(4, 0.5), np.array([0, 0, 0, 1], dtype=np.int8)) == 0.25


@pytest.mark.parametrize("spec", ["logistic", "logistic(features=all)", "boosting(trees=20)"])
def test_private_mails_are_told_from_work_out_of_fold(col: SensitiveCollection, spec: str) -> None:
    actual = sensitive.cross_validate(col, spec, folds=3, rng=0)
    assert actual.auc > 0.9
    assert ((actual.p > 0) & (actual.p < 1)).all()
    assert sorted(np.unique(actual.fold)) == [0, 1, 2]
    assert actual.candidate_auc > 0.8
    assert abs(actual.p.mean() - col.sensitive.mean()) < 0.1  # calibrated


def test_random_labels_cannot_be_learnt(col: SensitiveCollection) -> None:
    labels = np.random.default_rng(5).permutation(col.sensitive)
    actual = sensitive.cross_validate(replace(col, sensitive=labels), "logistic", folds=3)
    assert actual.auc < 0.7


def test_folds_repeat_with_their_seed(col: SensitiveCollection) -> None:
    first, second = (sensitive.cross_validate(col, "logistic", folds=3, rng=7) for _ in range(2))
    assert (first.p == second.p).all()
    assert (first.fold == second.fold).all()


def test_a_model_speaks_of_documents_never_seen(col: SensitiveCollection) -> None:
    model = sensitive.train(col, "logistic")
    p = model.predict([
        Document("x", "", " ".join(LIFE[:9])),
        " ".join(WORK[:9]),
        {"title": LIFE[0], "text": " ".join(LIFE[5:12])},
    ])  # fmt: skip
    assert p[0] > 0.5 > p[1]
    assert p[2] > p[1]
    assert len(model.predict([])) == 0
    with pytest.raises(InputError, match="list"):
        model.predict("a text")


def test_hidden_words_do_not_move_a_probability(col: SensitiveCollection) -> None:
    hidden = sensitive.simulate(col, [LIFE[0], LIFE[1], LIFE[2]])
    model = sensitive.train(hidden, "logistic")
    p = model.predict([f"meeting {LIFE[0]} budget", "meeting budget"])
    assert p[0] == pytest.approx(p[1], abs=0.02)


def test_labels_of_one_kind_are_refused(col: SensitiveCollection) -> None:
    same = replace(col, sensitive=np.zeros_like(col.sensitive))
    with pytest.raises(InputError, match="both classes"):
        sensitive.train(same)
    with pytest.raises(InputError, match="both classes"):
        sensitive.cross_validate(same)
    with pytest.raises(UnknownNameError, match="logistic"):
        sensitive.train(col, "logistik")


def test_documents_without_a_label_get_no_probability_of_their_own(
    col: SensitiveCollection,
) -> None:
    labels = col.sensitive.copy()
    labels[:3] = -1
    actual = sensitive.cross_validate(replace(col, sensitive=labels), "logistic", folds=3)
    assert np.isnan(actual.p[:3]).all()
    assert not np.isnan(actual.p[3:]).any()


def test_context_of_a_mail() -> None:
    mail = Mail(
        "RE: plans", "See you! Report.doc and plan.xls", {
            "date": "Sat, 8 Dec 2001 20:30:00 -0800", "from": "a@office.com", "recipients": 3,
        },
    )  # fmt: skip
    assert temporal(mail) == [0, 0, 0, 0, 0, 1, 20.5 / 24, 1]
    assert metadata(mail, "office.com") == [pytest.approx(np.log(4)), 1, 1, 0]
    assert attachments(mail)[1:4] == [1, 1, 0]
    assert style(mail)[1] > 0
    bare = Mail("Fwd: x", "", {"date": "never", "recipients": "many"})
    assert temporal(bare) == [0.0] * 8
    assert metadata(bare, "") == [0, 0, 0, 1]
