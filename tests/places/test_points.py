"""What comes in is checked once; messages give rows and never a coordinate."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from veil import places
from veil.core.errors import InputError
from veil.places.crs import LONLAT
from veil.places.release import releases_of

GOOD = [[12.345, 45.678], [13.0, 46.0], [14.0, 47.0]]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"xy": [[1.5, 2.5], [np.nan, 1], [1, np.inf]]}, "Rows 2, 3 must be finite"),
        ({"xy": [[12.5, 91.25]], "crs": LONLAT}, "Row 1 must have a latitude.*swapped"),
        ({"xy": [[200.0, 91.25]], "crs": LONLAT}, "Row 1 must have a latitude.*swapped[?]"),
        ({"xy": [[12.5, 9.25], [181.5, 3]], "crs": LONLAT}, "Row 2 must have a longitude"),
        ({"xy": [[12.5, 91.25]], "crs": "EPSG:4258"}, "Row 1 must have a latitude.*swapped"),
        ({"xy": [[12.5, 9.25], [181.5, 3]], "crs": "EPSG:6668"}, "Row 2 must have a longitude"),
        ({"xy": [[12.5, 101.5]], "crs": "EPSG:4807"}, "from -100 to 100"),
        ({"xy": GOOD, "crs": "EPSG:5703"}, "two horizontal axes. Got EPSG:5703"),
        ({"xy": GOOD, "crs": "EPSG:4978"}, "two horizontal axes. Got EPSG:4978"),
        ({"xy": GOOD, "crs": "EPSG:4979"}, "two horizontal axes. Got EPSG:4979"),
        ({"xy": [[1, 1e300]]}, "Row 1 must be within 1,000,000 km"),
        ({"xy": [[1 + 2j, 1]]}, "must be numbers"),
        ({"xy": []}, "two numbers"),
        ({"xy": np.zeros((0, 2))}, "at least one point"),
        ({"xy": [[1, 2, 3]]}, "two numbers"),
        ({"xy": [["a", "b"]]}, "must be numbers"),
        ({"xy": [[1, 2], [3]]}, "must be numbers"),
        ({"xy": GOOD, "crs": "EPSG:99999"}, "no coordinate system EPSG:99999"),
        ({"xy": GOOD, "weights": [1, 2]}, "3 weights, one per point. Got 2"),
        ({"xy": GOOD, "weights": [1, -2, 1]}, "Row 2 must have a weight"),
        ({"xy": GOOD, "weights": [1, np.nan, 1]}, "Row 2 must have a weight"),
        ({"xy": GOOD, "weights": [0, 0, 0]}, "All are 0"),
        ({"xy": GOOD, "ids": ["a", "b", "a"]}, "Row 3 must not repeat the id"),
        ({"xy": GOOD, "ids": ["a"]}, "ids, one per point"),
        ({"xy": GOOD, "users": ["a"]}, "users, one per point"),
        ({"xy": GOOD, "times": [1, 2]}, "times, one per point"),
        ({"xy": GOOD, "times": ["2020-01-01", "noon", "2020-01-02"]}, "Row 2 must have a time"),
    ],
)
def test_bad_points_are_refused_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        places.Points(**given)
    told = str(caught.value)
    assert not any(digits in told for digits in ("12.", "45.", "91.2", "181", "nan", "inf "))


def test_points_are_shown_without_a_coordinate() -> None:
    assert repr(places.Points(np.array(GOOD), LONLAT)) == "Points(3 rows, crs='EPSG:4326')"


def test_points_cannot_be_written_to_and_are_a_copy() -> None:
    xy = np.array(GOOD)
    points = places.Points(xy)
    xy[0] = 0
    assert points.xy[0].tolist() == GOOD[0]
    with pytest.raises(ValueError, match="read-only"):
        points.xy[0] = 0


def test_times_are_seconds_however_they_are_told() -> None:
    told: Any = ["2008-10-23T02:53:04", "2008-10-23T02:53:34Z", "2008-10-23T10:53:04+08:00"]
    times = places.Points(np.array(GOOD), times=told).times
    assert times is not None
    assert (times - times[0]).tolist() == [0, 30, 0]
    assert times[0] == 1224730384
    moments: Any = np.array(told[:1], dtype="datetime64[s]")
    same = places.Points(np.array(GOOD[:1]), times=moments).times
    assert same is not None
    assert same.tolist() == times[:1].tolist()


def test_some_rows_are_taken_with_all_that_belongs_to_them() -> None:
    points = places.Points(
        np.array(GOOD),
        ids=np.array(["a", "b", "c"]),
        weights=np.array([1.0, 2, 3]),
        columns={"kind": ["x", "y", "z"]},
    )
    some = points.take(np.array([True, False, True]))
    assert some.ids is not None
    assert some.weights is not None
    assert (some.ids.tolist(), some.weights.tolist()) == (["a", "c"], [1, 3])
    assert some.columns == {"kind": ["x", "z"]}
    assert some.times is None


def test_releases_are_taken_from_whatever_holds_them() -> None:
    points = places.Points(np.array(GOOD))
    release = places.protect(points, "disk(radius=3)", size=2)
    assert releases_of(release).shape == (2, 3, 2)
    assert releases_of(points).shape == (1, 3, 2)
    assert releases_of(np.array(GOOD)).shape == (1, 3, 2)
    bad: Any = "points"
    for wrong in (bad, np.zeros(3), np.zeros((1, 3, 3)), np.zeros((0, 3, 2))):
        with pytest.raises(InputError, match=r"an array \(m, n, 2\)"):
            releases_of(wrong)
    with pytest.raises(InputError, match="^Row 2 must be finite"):
        releases_of(np.array([[[1.0, 2], [np.nan, 3]]]))


def test_names_of_verbs_are_not_taken_by_modules() -> None:
    import veil.places.anonymity
    import veil.places.mechanism
    import veil.places.protect  # noqa: F401

    assert callable(places.protect)
    assert callable(places.mechanism)
    assert callable(places.displacement)
    assert {"protect", "Points", "spatial_k"} <= set(dir(places))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = places.nothing  # type: ignore[attr-defined]


def test_a_quarter_turn_is_told_in_the_unit_of_a_code() -> None:
    """EPSG:4807 counts in gradians: 95 of them are no latitude of degrees, and one of its own."""
    assert len(places.Points([[1.0, 50.0]], "EPSG:4258")) == 1  # type: ignore[arg-type]
    assert len(places.Points([[1.0, 95.0]], "EPSG:4807")) == 1  # type: ignore[arg-type]
    assert len(places.Points([[500.0, 95.0]], "EPSG:2154")) == 1  # type: ignore[arg-type]


def test_registries_are_attributes_of_a_fresh_package() -> None:
    code = "from veil import places; places.methods.METHODS; places.attackers.ATTACKERS"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert {"mechanisms", "attacks"} <= set(dir(places))
