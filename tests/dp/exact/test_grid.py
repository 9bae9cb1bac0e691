"""Rounding to a grid never moves two numbers further apart than the grid allows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.core.errors import InputError
from veil.dp.exact.grid import exact, grid, steps, unsteps

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)


@given(NUMBERS, NUMBERS, st.sampled_from([Fraction(1), Fraction(1, 2**20), Fraction(4)]))
def test_two_numbers_stay_as_near_as_they_were(x: float, y: float, g: Fraction) -> None:
    one, other = (int(k) for k in steps(np.array([x, y]), g))
    assert abs(one - other) <= math.ceil(abs(Fraction(x) - Fraction(y)) / g)


@given(NUMBERS, st.sampled_from([Fraction(1), Fraction(1, 8), Fraction(16)]))
def test_rounding_is_the_floor_of_the_exact_sum(x: float, g: Fraction) -> None:
    assert int(steps(np.array([x]), g)[0]) == math.floor(exact(x) / g + Fraction(1, 2))


def test_a_half_goes_up_and_never_to_even() -> None:
    halves = np.array([-1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994])
    assert steps(halves, Fraction(1)).tolist() == [-1, 0, 1, 2, 3, 0]


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12), st.integers(0, 24))
def test_the_grid_is_the_largest_power_of_two_below(scale: Fraction, bits: int) -> None:
    g = grid(scale, bits)
    assert g <= scale / 2**bits < 2 * g
    assert (g.numerator & (g.numerator - 1), g.denominator & (g.denominator - 1)) == (0, 0)


@given(st.integers(-(2**52), 2**52))
def test_steps_come_back_exactly(k: int) -> None:
    g = Fraction(1, 2**21)
    assert int(steps(unsteps(np.array([k]), g), g)[0]) == k


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf, 1e300])
def test_what_has_no_place_on_the_grid_is_refused(x: float) -> None:
    with pytest.raises(InputError) as error:
        steps(np.array([x]), Fraction(1))
    assert "1e" not in str(error.value)


def test_an_output_that_a_double_cannot_hold_is_refused() -> None:
    with pytest.raises(InputError, match="2\\^53"):
        unsteps(np.array([2**53]), Fraction(1))


@given(st.floats(-1e9, 1e9), st.integers(-20, 20))
def test_one_number_is_rounded_as_an_array_is(x: float, power: int) -> None:
    g = Fraction(2) ** power
    alone = steps(np.array(x), g)
    assert alone.shape == ()
    assert alone == steps(np.array([x, 0.0]), g)[0]
    assert unsteps(alone, g) == unsteps(np.array([alone, 0]), g)[0]


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5, -0.5])
def test_a_half_alone_goes_up(x: float) -> None:
    assert steps(np.array(x), Fraction(1)) == math.floor(x + 0.5)


@pytest.mark.parametrize("x", [math.nan, math.inf, 2.0**53, 1e308])
def test_one_number_that_does_not_fit_is_refused(x: float) -> None:
    with pytest.raises(InputError):
        steps(np.array(x), Fraction(1, 2**40))
