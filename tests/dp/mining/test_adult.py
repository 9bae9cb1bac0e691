"""The figures of real data: accuracy on `adult`, beside that of the majority."""

from pathlib import Path

import pytest
from tests.dp.mining.adult import SIZES, Adult, adult

from veil import dp


@pytest.fixture(scope="module")
def persons(shared: Path) -> Adult:
    path = shared / "counts" / "adult.csv.gz"
    if not path.is_file():
        pytest.skip("the shared data of counts is not at hand")
    return adult(path)


@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 0.81), (0.1, 0.79)])
def test_naive_bayes(persons: Adult, epsilon: float, least: float) -> None:
    learnt, tested = persons.split(1)
    model = dp.naive_bayes(persons.codes[learnt], persons.y[learnt], epsilon, SIZES, rng=1)
    assert float((model.predict(persons.codes[tested]) == persons.y[tested]).mean()) > least


def test_noisy_descent(persons: Adult) -> None:
    learnt, tested = persons.split(1)
    model = dp.logistic(persons.x[learnt], persons.y[learnt], 0.82, 1e-5, rng=1)
    assert float((model.predict(persons.x[tested]) == persons.y[tested]).mean()) > 0.84
