"""The optimum: worth as much as the best of all lists, and safe by default."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sensitive.golden import golden

from veil import sensitive
from veil.core.errors import InputError, VeilError

pytest.importorskip("scipy")


def worth(order: Any, gains: Any, p: Any, cost: float) -> float:  # noqa: ANN401
    values = [
        gains[place] / np.log2(rank + 2) - cost * p[place] for rank, place in enumerate(order)
    ]
    return float(sum(values))


@pytest.mark.parametrize("case", golden("optimum"))
def test_golden(case: dict[str, Any]) -> None:
    gains, p, k, cost = (case[key] for key in ("gains", "probabilities", "k", "cost"))
    order = sensitive.optimum(gains, p, k, cost)
    assert worth(order, gains, p, cost) == pytest.approx(case["value"], abs=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=5),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.5, 4.0]),
    st.booleans(),
)
def test_no_list_is_worth_more(
    documents: list[tuple[int, int]], k: int, cost: float, fill: bool
) -> None:
    gains, p = [gain / 2 for gain, _ in documents], [entry / 10 for _, entry in documents]
    order = sensitive.optimum(gains, p, k, cost, fill=fill)
    full = min(k, len(gains))
    sizes = [full] if fill else range(full + 1)
    best = max(
        worth(shown, gains, p, cost)
        for size in sizes
        for shown in permutations(range(len(gains)), size)
    )
    assert worth(order, gains, p, cost) == pytest.approx(best, abs=1e-9)
    assert len(order) == full if fill else len(order) <= full


def test_of_equal_documents_the_earlier_is_taken() -> None:
    assert sensitive.optimum([1.0] * 6, [0.1, 0.0, 0.0, 0.0, 0.0, 0.1], k=3) == [1, 2, 3]


@pytest.mark.parametrize("fill", [False, True])
def test_what_is_certain_or_not_known_is_never_taken(fill: bool) -> None:
    order = sensitive.optimum([9.0, 9.0, 1.0], [1.0, np.nan, 0.0], k=3, cost=0.0, fill=fill)
    assert order == [2]


def test_nothing_is_taken_where_everything_costs_more_than_it_gains() -> None:
    assert sensitive.optimum([1.0, 1.0], [0.5, 0.5]) == []
    assert sensitive.optimum([], []) == []


@pytest.mark.parametrize(
    ("gains", "p"),
    [([1.0], [1.5]), ([1.0], [0.1, 0.2]), ([-1.0], [0.1]), ([np.inf], [0.1]), (["x"], [0.1])],
)
def test_bad_input(gains: Any, p: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError):
        sensitive.optimum(gains, p)
    with pytest.raises(VeilError, match="cost"):
        sensitive.optimum([1.0], [0.1], cost=-1.0)
