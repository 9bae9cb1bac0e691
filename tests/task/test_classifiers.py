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


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ridge", [0.05, 1.0, 20.0])
def test_the_gradient_of_the_objective_is_zero(rng: Generator, ridge: float, classes: int) -> None:
    rows = rng.normal(size=(200, 6))
    codes = (rows[:, :classes] + rng.normal(size=(200, classes))).argmax(axis=1)
    weights = fit(rows, codes, classes, ridge)
    shares = softmax(rows @ weights[:-1] + weights[-1])
    errors = shares - np.eye(classes)[codes]
    assert np.allclose(rows.T @ errors + ridge * weights[:-1], 0, atol=5e-3)
    assert np.allclose(errors.sum(axis=0), 0, atol=5e-3)


def test_a_class_without_texts_has_no_share(rng: Generator) -> None:
    rows = rng.normal(size=(20, 2))
    for codes in (np.zeros(20, dtype=np.int64), np.arange(20) % 2):
        weights = fit(rows, codes, 3, 1.0)
        shares = softmax(rows @ weights[:-1] + weights[-1])
        assert np.allclose(shares.sum(axis=1), 1)
        assert np.all(shares[:, 2] == 0)


def test_the_same_texts_give_the_same_weights_and_are_learnt() -> None:
    entry, other = (Logistic(ridge=0.01).learn(DATA, DATA.classes).weights for _ in range(2))
    assert np.array_equal(entry, other)
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
    labels = "LABEL_0=Negative, LABEL_1=neutral,label_2=positive"
    actual = Pipeline(labels=labels).learn(DATA, DATA.classes).shares(TEXTS)
    assert [DATA.classes[i] for i in actual.argmax(axis=1)] == list(LABELS)
    assert actual.max() == 0.9
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
