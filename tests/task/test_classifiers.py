"""Classifiers: the regression against another solver, and a pipeline that stands in."""

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.errors import AssetError, InputError, MissingExtraError, ParameterError
from veil.task.classifiers import CLASSIFIERS
from veil.task.classifiers.logistic import Logistic, fit, softmax
from veil.task.classifiers.pipeline import Pipeline
from veil.task.labelled import Labelled

TEXTS = ("good day", "bad day", "so so", "bad bad", "good good", "so")
LABELS = ("positive", "negative", "neutral", "negative", "positive", "neutral")
DATA = Labelled(TEXTS, LABELS, "some")


@pytest.mark.parametrize("ridge", [0.05, 1.0, 20.0])
def test_the_regression_is_that_of_scikit_learn(rng: Generator, ridge: float) -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="the extra 'ml' is not installed")
    rows = rng.normal(size=(200, 6))
    codes = (rows[:, :3] + rng.normal(size=(200, 3))).argmax(axis=1)
    ours = fit(np.concatenate([rows, np.ones((200, 1))], axis=1), codes, 3, ridge)
    theirs = linear.LogisticRegression(C=1 / ridge, tol=1e-9, max_iter=5000).fit(rows, codes)
    centred = ours - ours.mean(axis=1, keepdims=True)  # a constant for all labels says nothing
    assert np.allclose(centred[:-1].T, theirs.coef_, atol=2e-4)
    ready = softmax(np.concatenate([rows, np.ones((200, 1))], axis=1) @ ours)
    assert np.allclose(ready, theirs.predict_proba(rows), atol=2e-4)


def test_the_same_texts_give_the_same_weights_and_are_learnt() -> None:
    one, other = (Logistic(ridge=0.01).learn(DATA, DATA.classes).weights for _ in range(2))
    assert np.array_equal(one, other)
    shares = Logistic(ridge=0.01).learn(DATA, DATA.classes).shares(TEXTS)
    assert [DATA.classes[i] for i in shares.argmax(axis=1)] == list(LABELS)
    assert np.allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize("spec", ["logistic(texts=1)", "logistic(ridge=0)", "logistic(train=no)"])
def test_parameters_out_of_range_are_refused(spec: str) -> None:
    with pytest.raises(ParameterError, match="must be"):
        CLASSIFIERS.parse(spec)


class Pipe:
    """Stands in for a pipeline of transformers: the first word tells."""

    def __call__(self, texts: list[str], *, top_k: None) -> list[list[dict[str, Any]]]:
        del top_k
        names = {"good": "LABEL_2", "bad": "LABEL_0"}
        return [
            [
                {"label": names.get(text.split()[0], "LABEL_1"), "score": 0.9},
                {"label": "LABEL_9", "score": 0.1},
            ]
            for text in texts
        ]


def opened(task: str, *, model: str, trust_remote_code: bool, **_: object) -> Pipe:
    assert (task, trust_remote_code) == ("text-classification", False)
    if model == "nobody/nothing":
        raise OSError
    return Pipe()


def test_a_pipeline_is_asked_by_its_own_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(pipeline=opened))
    named = "LABEL_0=Negative, LABEL_1=neutral,label_2=positive"
    found = Pipeline(labels=named).learn(DATA, DATA.classes).shares(TEXTS)
    assert [DATA.classes[i] for i in found.argmax(axis=1)] == list(LABELS)
    assert found.max() == 0.9
    assert not Pipeline().protected
    with pytest.raises(InputError, match="none of the labels of the data"):
        Pipeline().learn(DATA, DATA.classes).shares(TEXTS)
    with pytest.raises(InputError, match="must be pairs"):
        Pipeline(labels="positive").learn(DATA, DATA.classes)
    with pytest.raises(AssetError, match="could not be opened"):
        Pipeline(model="nobody/nothing").learn(DATA, DATA.classes)


def test_a_pipeline_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match="neural"):
        Pipeline().learn(DATA, DATA.classes)


def test_names_are_those_of_the_table() -> None:
    names: Sequence[str] = CLASSIFIERS.names()
    assert {"logistic", "pipeline"} <= set(names)
