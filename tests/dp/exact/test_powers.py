"""Bounds of e^-x by integers hold, and are tight."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.dp.exact.coins import exp_minus

EXPONENTS = st.fractions(min_value=0, max_value=300, max_denominator=10**18)


@given(EXPONENTS, st.sampled_from([64, 256, 512]))
def test_bounds_hold_the_value_within_two_units(x: Fraction, bits: int) -> None:
    lo, hi = exp_minus(x, bits)
    with localcontext() as context:
        context.prec = 400
        true = (-Decimal(x.numerator) / Decimal(x.denominator)).exp() * 2**bits
    assert lo <= true <= hi
    assert hi - lo <= 2


@pytest.mark.parametrize("bits", [64, 256])
def test_what_is_smaller_than_a_unit_is_neither_nothing_nor_more(bits: int) -> None:
    assert exp_minus(Fraction(10**12), bits) == (0, 1)
    assert exp_minus(Fraction(0), bits) == (1 << bits, 1 << bits)


def test_an_exponent_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        exp_minus(Fraction(-1), 64)
