"""Numbers that a caller gives: those of NumPy are taken, and nothing else that is no number."""

import math
from decimal import Decimal

import numpy as np
import pytest

from veil.core.errors import ParameterError
from veil.dp.inputs import count, positive, share

_NO_NUMBERS: list[object] = [
    None,
    True,
    False,
    np.True_,
    "1",
    [1],
    np.array([0.5]),
    1j,
    Decimal("0.5"),
    {},
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2, 2.0), (0.5, 0.5), (np.int64(3), 3.0), (np.uint8(3), 3.0), (np.float32(0.5), 0.5),
     (np.float64(0.1), 0.1)],
)  # fmt: skip
def test_positive_numbers_are_floats(value: object, expected: float) -> None:
    found = positive("epsilon", value)
    assert (type(found), found) == (float, expected)


@pytest.mark.parametrize(
    "value", [*_NO_NUMBERS, 0, -1, 0.0, math.nan, math.inf, np.float64(np.nan), 10**400]
)
def test_what_is_not_positive_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^The 'epsilon' argument must be a finite number"):
        positive("epsilon", value)


def test_shares() -> None:
    found = share("delta", np.float32(0.25))
    assert (type(found), found) == (float, 0.25)
    assert type(share("delta", 0, zero=True)) is float
    with pytest.raises(ParameterError, match=r"^The 'delta' argument must be a number > 0 and <"):
        share("delta", 0)


@pytest.mark.parametrize("value", [*_NO_NUMBERS, -0.1, 1, 1.0, math.nan, math.inf, 10**400])
def test_what_is_no_share_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^The 'q' argument must be a number >= 0 and < 1"):
        share("q", value, zero=True)


def test_counts() -> None:
    assert type(count("n", np.int64(5))) is int
    assert count("n", 0, 0) == 0
    for value in (*_NO_NUMBERS, 999, 1000.0, np.float64(2000)):
        with pytest.raises(ParameterError, match=r"^The 'n' argument must be an integer >= 1,"):
            count("n", value, 1_000)
