"""The demonstrations say what was asked, and find what they say."""

import math

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.types import Ids
from veil.dp.attacks import demonstrations as shown


@pytest.fixture
def income(rng: Generator) -> Ids:
    return rng.permutation(40) * 1_000 + 5_000


def test_differencing_and_what_stops_it(income: Ids) -> None:
    open_ = shown.differencing(income, 5)
    assert open_.value == income[5]
    assert open_.lines[-1].startswith(f"So record 5 has {income[5]:,}, after 2 questions")
    refused = shown.differencing(income, 5, min_size=10)
    assert math.isnan(refused.value)
    assert refused.lines[0] == "The sum of all 40 records: refused"
    assert f"{income[5]:,}" not in str(refused)


def test_the_tracker_goes_around_it(income: Ids) -> None:
    found = shown.tracker(income, 5, min_size=10, rng=1)
    assert found.value == income[5]
    assert len(found.lines) == 4
    assert "refused" not in str(found)


def test_averaging_needs_fresh_noise() -> None:
    found = shown.averaging([0, 1, 1, 0], 1, "geometric(epsilon=0.5)", times=2_000, rng=3)
    assert found.value == pytest.approx(1, abs=0.3)
    assert "all of them have dp: epsilon 1,000, per record" in found.lines[1]
    assert "asking again reveals nothing more" in found.lines[2]


def test_a_denial_leaks(income: Ids) -> None:
    found = shown.denial(income)
    top = int(np.argmax(income))
    assert found.value == 44_000
    assert found.lines[-1].startswith(f"Without record {top} it is refused, so record {top} has")
    assert len(found.lines) <= 15
    silent = shown.denial(income, "max-simulatable")
    assert math.isnan(silent.value)
    assert "40 of 40 are refused, regardless of the values" in silent.lines[-1]
    assert math.isnan(shown.denial([3, 9, 9]).value)  # two have it


def test_what_cannot_be_shown() -> None:
    with pytest.raises(ParameterError, match="max-simulatable"):
        shown.denial([1, 2, 3], "sum")
    with pytest.raises(InputError, match="three records"):
        shown.denial([1, 2])
    with pytest.raises(InputError, match="from 0 to 2"):
        shown.tracker([1, 2, 3], 3)
