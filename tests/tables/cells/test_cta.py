"""Adjustment: no small count is left, sums stay, and the change is the least there is."""

import numpy as np
import pytest

from veil import tables
from veil.core.errors import InputError
from veil.core.types import Floats

THRESHOLD, SHARE = 3, 0.5


def least(values: Floats) -> float | None:
    """Go through every table that keeps the rules."""
    ranges = []
    for (i, j), v in np.ndenumerate(values):
        room, most = max(1, int(SHARE * v)), int(min(values[i].sum(), values[:, j].sum()))
        if v == 0:
            ranges.append([0])
        elif v < THRESHOLD:
            ranges.append([0, *range(THRESHOLD, most + 1)])
        else:
            ranges.append([x for x in range(int(v) - room, most + 1)
                           if THRESHOLD <= x <= v + room])  # fmt: skip
    result = np.stack(np.meshgrid(*ranges), axis=-1).reshape(-1, *values.shape)
    for axis in range(2):
        result = result[(result.sum(1 + axis) == values.sum(axis)).all(1)]
    return float(np.abs(result - values).sum((1, 2)).min()) if len(result) else None


def random_table(seed: int) -> Floats:
    """Draw a table with some counts that are small, or none."""
    generator = np.random.default_rng(seed)
    values = generator.integers(3, 8, (2, 3)).astype(float)
    few = generator.permutation(6)[: 1 + seed % 3]
    values.ravel()[few] = generator.integers(0, 3, len(few))
    return values


@pytest.mark.parametrize("seed", range(30))
def test_the_change_is_the_least(seed: int) -> None:
    values = random_table(seed)
    best = least(values)
    cells = tables.tabulate(values)
    sums = np.concatenate([values.sum(0), values.sum(1), [values.sum()]])
    try:
        release = tables.protect(cells, f"cta(threshold={THRESHOLD}, share={SHARE})")
    except InputError:
        assert best is None or ((sums > 0) & (sums < THRESHOLD)).any()
        return
    assert np.abs(release.values - values).sum() == best
    masked = release.values
    assert not ((masked > 0) & (masked < THRESHOLD)).any()
    assert (masked[values == 0] == 0).all()
    np.testing.assert_array_equal(release.margins[-1], cells.margins[-1])
    np.testing.assert_array_equal(release.margins[:, -1], cells.margins[:, -1])
    assert (release.bounds.low <= cells.margins).all()
    assert (release.bounds.high >= cells.margins).all()
    audited = tables.audit(release)
    assert (audited.low <= cells.margins).all()
    assert (audited.high >= cells.margins).all()


def test_three_axes() -> None:
    values = np.random.default_rng(2).integers(3, 30, (3, 3, 3)).astype(float)
    values[0, 0, 0] = 1
    release = tables.protect(tables.tabulate(values), "cta(threshold=3)")
    masked = release.values
    assert masked[0, 0, 0] in (0.0, *range(3, 40))
    assert not ((masked > 0) & (masked < 3)).any()
    for axis in range(3):
        np.testing.assert_array_equal(masked.sum(axis), values.sum(axis))


def test_bounds_hold_for_every_count_that_may_have_moved() -> None:
    """Nothing moves farther than its share: what a reader may conclude covers all of it."""
    for share in (0.1, 0.34, 0.5, 0.9):
        cells = tables.tabulate(np.arange(10.0, 60.0))
        release = tables.protect(cells, f"cta(threshold=5, share={share})")
        high = release.bounds.high[:-1]
        for masked, most in zip(release.values, high, strict=True):
            ups = [v for v in range(5, 2000) if v - max(1, int(share * v)) <= masked]
            assert max(v for v in ups if v - max(1, int(share * v)) <= masked) == most


def test_sums_below_the_threshold_are_refused() -> None:
    with pytest.raises(InputError, match="2 sums"):
        tables.protect(tables.tabulate([[1, 1, 0], [0, 9, 9], [0, 9, 9]]), "cta(threshold=3)")


def test_what_cannot_be_adjusted_is_not_published() -> None:
    with pytest.raises(InputError, match="larger share"):
        tables.protect(tables.tabulate([[1, 9], [9, 0]]), "cta(threshold=5)")


def test_a_table_without_small_counts_stays() -> None:
    cells = tables.tabulate([[9, 0], [8, 7]])
    np.testing.assert_array_equal(tables.protect(cells, "cta").margins, cells.margins)


def test_a_table_over_which_the_solver_stumbles() -> None:
    """HiGHS 1.12 fails with its presolve, and not without."""
    values = np.array([8, 11, 10, 2, 25, 2, 12, 72, 3, 1, 7, 52])
    release = tables.protect(tables.tabulate(values), "cta(threshold=3)")
    assert np.abs(release.values - values).sum() == 4
    assert release.margins[-1] == values.sum()
