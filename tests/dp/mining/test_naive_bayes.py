"""Naive Bayes: what one row moves, what is spent, and how often it is right."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil import dp
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import discrete_laplace
from veil.dp.mechanisms import laplace
from veil.dp.mining.columns import bins
from veil.dp.mining.naive_bayes import tallies

SIZES = [3, 2, 5]


def table(n: int, seed: int = 1) -> tuple[Ids, Ids]:
    """Draw rows whose first feature nearly is the label."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    x = np.stack([rng.integers(size, size=n) for size in SIZES], axis=1)
    x[:, 0] = np.where(rng.random(n) < 0.9, y, x[:, 0])
    return x, y


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 29), st.integers(0, 2**32 - 1))
def test_one_row_changes_one_number_of_each_table_by_one(row: int, seed: int) -> None:
    x, y = table(30, seed)
    whole = tallies(x, y, SIZES, 2)
    less = tallies(np.delete(x, row, 0), np.delete(y, row), SIZES, 2)
    moved = [int(np.abs(one - other).sum()) for one, other in zip(whole, less, strict=True)]
    assert moved == [1] * (len(SIZES) + 1)


def test_all_noise_together_costs_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[tuple[Fraction, int]] = []

    def seen(scale: Fraction, n: int, rng: np.random.Generator) -> Ids:
        scales.append((scale, n))
        return discrete_laplace(scale, n, rng)

    monkeypatch.setattr(laplace, "discrete_laplace", seen)
    x, y = table(50)
    model = dp.naive_bayes(x, y, 0.3, SIZES, rng=1)
    (scale, count), *others = scales
    assert not others
    assert count == 2 + 2 * sum(SIZES)  # every number gets noise
    assert (len(SIZES) + 1) / scale == Fraction(0.3)  # L1 sensitivity over scale
    assert model.cost.epsilon == 0.3
    assert model.cost.delta == 0


def test_shares_are_those_of_the_counts_with_one_more_each() -> None:
    x, y = table(200)
    model = dp.naive_bayes(x, y, 1e9, SIZES, classes=[0, 1], rng=1)
    shares = np.exp(model.tables[2][1])
    counts = np.bincount(x[y == 1, 2], minlength=5) + 1
    np.testing.assert_allclose(shares, counts / counts.sum())
    np.testing.assert_allclose(np.exp(model.prior), (np.bincount(y) + 1) / (len(y) + 2))
    assert "classes" not in model.cost.caveat


def test_it_is_right_where_a_feature_tells_the_label() -> None:
    x, y = table(4000)
    other, truth = table(2000, seed=2)
    for epsilon in (0.2, 1.0):
        model = dp.naive_bayes(x, y, epsilon, SIZES, rng=3)
        assert float((model.predict(other) == truth).mean()) > 0.9


def test_noise_is_drawn_anew_and_repeats_under_a_seed() -> None:
    x, y = table(100)
    models = [dp.naive_bayes(x, y, 0.1, SIZES, rng=seed) for seed in (1, 1, 2, None, None)]
    tables: list[Floats] = [model.tables[2] for model in models]
    assert (tables[0] == tables[1]).all()
    assert (tables[0] != tables[2]).any()
    assert (tables[3] != tables[4]).any()
    assert [model.seeded for model in models] == [True, True, True, False, False]


def test_labels_are_printed_in_one_form_whichever_row_comes_first() -> None:
    x, _ = table(60)
    labels = [2, 3, 5] * 20
    for y in (labels, [2.0, *labels[1:]], [np.float32(2), *labels[1:]]):
        model = dp.naive_bayes(x, y, 1.0, SIZES, rng=1)
        assert model.predict(x).dtype == np.int64


def test_labels_may_be_texts_truths_or_not_there() -> None:
    x, y = table(300)
    texts = np.where(y == 1, "yes", "no")
    model = dp.naive_bayes(x, texts, 50.0, SIZES, rng=1)
    assert set(model.predict(x)) == {"no", "yes"}
    assert "treated as public" in model.cost.caveat
    assert dp.naive_bayes(x, y == 1, 50.0, SIZES, rng=1).predict(x).dtype.kind == "i"
    one = dp.naive_bayes(x, np.ones(300, int), 1.0, SIZES, rng=1)
    assert one.labels.tolist() == [0, 1]  # that nobody is 0 is not told
    three = dp.naive_bayes(x, y, 1.0, SIZES, classes=[2, 0, 1], rng=1)
    assert three.labels.tolist() == [0, 1, 2]
    empty = dp.naive_bayes(np.empty((0, 3), int), [], 1.0, SIZES, classes=["a", "b"], rng=1)
    assert empty.predict(x).shape == (300,)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"epsilon": 0}, ParameterError, "'epsilon'"),
        ({"epsilon": float("nan")}, ParameterError, "'epsilon'"),
        ({"epsilon": True}, ParameterError, "'epsilon'"),
        ({"sizes": [3, 2]}, InputError, "2 columns. Got 3"),
        ({"sizes": [3, 2, 0]}, ParameterError, "'sizes'"),
        ({"sizes": [3, 2, 4]}, InputError, "below the size"),
        ({"sizes": []}, ParameterError, "'sizes'"),
        ({"sizes": [3, 2, 2**40]}, InputError, "too many values"),
        ({"X": [[0.5, 1, 2]], "y": [1]}, InputError, "codes"),
        ({"X": [[-1, 1, 2]], "y": [1]}, InputError, "at least 0"),
        ({"X": [1, 2, 3], "y": [1]}, InputError, "a table"),
        ({"X": [[1, 2, 3], [1]], "y": [1, 1]}, InputError, "each row"),
        ({"y": [1]}, InputError, "one label per row"),
        ({"y": [float("nan")] * 20}, InputError, "nan"),
        ({"y": [["a"]] * 20}, InputError, "list"),
        ({"classes": [0]}, InputError, "must be in .classes."),
        ({"classes": ["0", "1"]}, InputError, "same type"),
        ({"classes": []}, InputError, "must be non-empty"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    change: dict[str, object], error: type[Exception], says: str
) -> None:
    x, y = table(20)
    arguments = {"X": x, "y": y, "epsilon": 1.0, "sizes": SIZES, **change}
    with pytest.raises(error, match=says):
        dp.naive_bayes(**arguments)  # type: ignore[arg-type]


def test_bins_are_of_public_bounds() -> None:
    found = bins(np.array([-1e300, 0.0, 0.24, 0.25, 0.99, 1.0, 7.0]), 0, 1, 4)
    assert found.tolist() == [0, 0, 0, 1, 3, 3, 3]
    assert bins([[1, 2], [3, 4]], 0, 8, 2).tolist() == [[0, 0], [0, 1]]
    for bad in (float("nan"), float("inf")):
        with pytest.raises(InputError, match="finite"):
            bins([bad], 0, 1, 4)
    for low, high, count in ((1, 1, 2), (2, 1, 2), (0, float("inf"), 2), (0, 1, 0)):
        with pytest.raises(ParameterError):
            bins([0.5], low, high, count)
