"""With PyTerrier itself: its own checks of a step, and an experiment."""

import os
import unittest
from typing import Any

import pytest
from tests.conftest import make_space
from tests.pyterrier.kit import engine_of

SPACE = make_space(60, 8)
WORDS = SPACE.words
NEAR = "cmp(epsilon=10000)"
DOCUMENTS = {f"d{i}": f"{word} {WORDS[(i + 1) % 60]}" for i, word in enumerate(WORDS)}


@pytest.fixture
def terrier() -> Any:  # noqa: ANN401 - it has no types here
    return pytest.importorskip("pyterrier", reason="the extra 'pyterrier' is missing")


def made(terrier: Any) -> dict[str, Any]:  # noqa: ANN401
    from veil.pyterrier import Fuse, Obfuscate, PrivateSearch

    pandas = pytest.importorskip("pandas")
    engine = engine_of(terrier.Transformer, pandas.DataFrame)(DOCUMENTS)
    return {
        "plain": engine,
        "one variant": Obfuscate(NEAR, vectors=SPACE) >> engine,
        "fused": Obfuscate(NEAR, 3, vectors=SPACE) >> engine >> Fuse(),
        "private": PrivateSearch(engine, NEAR, 3, vectors=SPACE),
        "cut": PrivateSearch(engine, NEAR, 3, vectors=SPACE) % 1,
    }


def test_steps_pass_the_checks_of_pyterrier(
    terrier: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What goes in and comes out of them can be told without running them."""
    monkeypatch.setitem(os.environ, "PT_TEST_TRANSFORMER_REPORTS", "0")
    testing = pytest.importorskip("pyterrier.testing")
    for name, step in made(terrier).items():
        case = testing.transformer_test_class(lambda step=step: step)
        result = unittest.TestResult()
        unittest.TestSuite([case("test_inspect_io")]).run(result)
        assert result.testsRun == 1
        assert not result.failures + result.errors, name


def test_an_experiment_compares_private_and_plain_pipelines(terrier: Any) -> None:  # noqa: ANN401
    """With variants that are the query all of them find the same; a warning is an error."""
    pandas = pytest.importorskip("pandas")
    topics = pandas.DataFrame([{"qid": f"q{i}", "query": WORDS[i]} for i in range(0, 20, 2)])
    judged = [{"qid": f"q{i}", "docno": f"d{i}", "label": 1} for i in range(0, 20, 2)]
    steps = made(terrier)
    found = terrier.Experiment(
        list(steps.values()),
        topics,
        pandas.DataFrame(judged),
        ["ndcg_cut_10"],
        names=list(steps),
        validate="error",
    )
    scores = dict(zip(found["name"], found["ndcg_cut_10"], strict=True))
    assert scores["plain"] > 0.5
    assert scores["one variant"] == scores["fused"] == scores["private"] == scores["plain"]
    assert set(scores) == set(steps)
