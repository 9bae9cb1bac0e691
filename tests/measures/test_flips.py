"""Many p-values at once are those of one comparison after the other."""

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.errors import InputError
from veil.measures._flips import p_values
from veil.measures.paired import compare


@pytest.mark.parametrize("n", [1, 5, 16, 17, 43])
def test_each_p_value_is_that_of_its_own_comparison(n: int, rng: Generator) -> None:
    plain = rng.random(n)
    others = np.clip(plain + rng.normal([[0.0], [0.05], [-0.4]], 0.2, (3, n)), 0, 1)
    found = p_values(others - plain)
    alone = [compare(other, plain).p_value for other in others]
    assert found.tolist() == pytest.approx(alone, abs=1e-15)


def test_a_query_that_is_not_known_is_left_out(rng: Generator) -> None:
    gaps = rng.normal(0.3, 0.4, 12)
    holes = np.append(gaps, [np.nan, np.nan])
    alone = compare(gaps, np.zeros(12)).p_value
    assert p_values([holes])[0] == alone
    assert p_values([[np.nan, 0.0]])[0] == 1


def test_there_must_be_differences() -> None:
    some: tuple[list[Any], ...] = ([], [0.5], [[]], [[np.inf]])
    for bad in some:
        with pytest.raises(InputError, match="one row per configuration"):
            p_values(bad)
