"""Cells: values that were found by exhaustive search elsewhere."""

from typing import Any

import numpy as np
import pytest
from tests.tables.golden import golden, needs_golden

from veil import tables
from veil.tables.cells.audit import intervals
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import Bounds

pytestmark = needs_golden


@pytest.fixture
def expected() -> dict[str, Any]:
    result: dict[str, Any] = golden("macro")
    return result


@pytest.fixture
def cells(expected: dict[str, Any]) -> Cells:
    return tables.tabulate(expected["table"])


def test_primary_cells_alone_are_disclosed(expected: dict[str, Any], cells: Cells) -> None:
    full = cells.margins
    hidden = np.zeros(full.shape, dtype=bool)
    for place in expected["primary"]:
        hidden[tuple(place)] = True
    bounds = Bounds(np.where(hidden, 0.0, full), np.where(hidden, np.inf, full))
    audited = intervals(cells.axes, bounds, whole=True)
    for place, (low, high) in expected["primaries_alone"].items():
        at = tuple(map(int, place.split(",")))
        assert (audited.low[at], audited.high[at]) == (low, high)
    assert audited.known[hidden].all()


def test_as_few_cells_of_as_little_value_are_suppressed(
    expected: dict[str, Any], cells: Cells
) -> None:
    release = tables.protect(cells, f"suppress(threshold={expected['threshold']})")
    assert np.argwhere(release.primary).tolist() == expected["primary"]
    assert not release.suppressed[-1].any()
    assert not release.suppressed[:, -1].any()
    more = np.isnan(release.values) & ~release.primary[:-1, :-1]
    assert int(more.sum()) == expected["fewest_secondary"]
    assert cells.values[more].sum() == expected["least_value"]


def test_protected_cells_have_their_room(cells: Cells) -> None:
    release = tables.protect(cells, "suppress(threshold=5)")
    audited = tables.audit(release)
    values = cells.margins[release.primary]
    assert (audited.low[release.primary] <= np.maximum(0, values - 5)).all()
    assert (audited.high[release.primary] >= values + 5).all()
    attack = tables.attack(cells, release, "intervals")
    assert attack.risk == 0.0
    assert attack.details["exact"] == 0


def test_adjustment_is_the_least(expected: dict[str, Any], cells: Cells) -> None:
    share, least = expected["cta"]["share"], expected["cta"]["least_l1"]
    release = tables.protect(cells, f"cta(threshold=5, share={share})")
    assert np.abs(release.values - cells.values).sum() == least
    assert np.array_equal(release.margins[-1], cells.margins[-1])
    assert np.array_equal(release.margins[:, -1], cells.margins[:, -1])
