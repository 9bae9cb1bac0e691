"""The six parts of utility: what brute force gives, what golden values say, and bad input."""

import numpy as np
import pytest
from numpy.random import Generator
from tests.places.snow import columns, deaths, golden, masked, needs_snow, releases

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.places import measures
from veil.places.measures import PARTS, Frame, compare_facilities, parts_of, score_releases


def distances(one: Floats, other: Floats) -> Floats:
    """Return all distances, the slow way."""
    apart: Floats = np.sqrt(np.square(one[:, None] - other[None]).sum(axis=2))
    return apart


def town(rng: Generator, n: int = 60) -> Floats:
    return np.column_stack([rng.normal(5_000, 300, n), rng.normal(9_000, 200, n)])


@needs_snow
@pytest.mark.parametrize("method", ["donut", "laplace"])
def test_utility_of_snow_is_golden(method: str) -> None:
    expected = golden()[method]
    released = masked() if method == "donut" else releases()[0]
    result = score_releases(deaths()[0], released[None])
    assert float(result.score) == pytest.approx(expected["utility"], abs=1e-6)
    assert {name: float(part) for name, part in result.parts.items()} == pytest.approx(
        expected["parts"], abs=1e-6
    )


@needs_snow
def test_what_the_parts_are_made_of_is_golden() -> None:
    frame, more = Frame.of(deaths()[0]), golden()["donut"]["more"]
    assert measures.clark_evans(deaths()[0], frame) == pytest.approx(more["nn_index"])
    assert measures.clark_evans(masked(), frame) == pytest.approx(more["nn_index_masked"])
    assert (frame.spread, measures.bandwidth(frame)) == pytest.approx(
        (more["sd"], more["bandwidth"])
    )


@needs_snow
def test_pumps_of_snow_are_golden() -> None:
    xy, count = deaths()
    result = compare_facilities(xy, masked()[None], columns("snow-pumps.csv", "x", "y"), count)
    pumps = golden()["pumps"]
    assert result.before.tolist() == pumps["deaths_per_pump"]
    assert result.unchanged[0] == pytest.approx(pumps["kept_share_donut"])
    assert result.after.sum() == count.sum()


def test_every_part_is_one_when_nothing_changed(rng: Generator) -> None:
    points = town(rng)
    assert parts_of(points, points) == pytest.approx(dict.fromkeys(PARTS, 1.0))


def test_every_part_falls_when_all_is_noise(rng: Generator) -> None:
    points = town(rng)
    result = parts_of(points, points + rng.normal(size=points.shape) * 3_000)
    assert all(0 <= value < 0.9 for value in result.values())
    assert result["density"] < 0.5
    assert result["dispersion"] < 0.3


def test_pairs_and_neighbours_are_those_of_brute_force(rng: Generator) -> None:
    points = town(rng)
    far = distances(points, points)
    away = far[~np.eye(len(points), dtype=bool)]
    radii = measures.radii(Frame.of(points))
    expected = [(away <= radius).sum() for radius in radii]
    assert measures.pairs_within(points, radii).tolist() == expected
    assert measures.nearest(points) == pytest.approx(
        (far + np.diag(np.full(len(points), np.inf))).min(axis=1)
    )


def test_the_surface_is_a_sum_of_kernels(rng: Generator) -> None:
    points = town(rng)
    frame = Frame.of(points)
    across, along = measures.centres(frame)
    cells = np.stack(np.meshgrid(across, along), axis=2).reshape(-1, 2)
    width = measures.bandwidth(frame)
    expected = np.exp(-np.square(distances(cells, points)) / (2 * width**2)).sum(axis=1)
    assert measures.surface(points, frame).ravel() == pytest.approx(expected)


def test_hot_is_the_densest_tenth_and_of_equal_cells_the_first() -> None:
    cells = np.zeros((measures.CELLS, measures.CELLS))
    cells[3, :] = 2.0
    cells[60, 5] = 9.0
    hot = measures.hottest(cells)
    assert len(hot) == measures.HOT
    assert hot[0] == 60 * 64 + 5
    assert hot[1:65].tolist() == list(range(192, 256))
    assert hot[65:].tolist() == [i for i in range(410) if not 192 <= i < 256][: 410 - 65]


def test_points_on_one_line_can_be_measured(rng: Generator) -> None:
    points = np.column_stack([rng.normal(size=40), np.zeros(40)])
    assert parts_of(points, points)["neighbours"] == 1
    assert 0 < parts_of(points, points + np.array([0, 0.1]))["ripley"] <= 1


@pytest.mark.parametrize(
    ("points", "sentence"), [(np.zeros((2, 2)), "at least 3"), (np.ones((5, 2)), "All are at one")]
)
def test_too_little_is_refused(points: Floats, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        score_releases(points, points[None])


def test_the_interval_is_over_the_releases(rng: Generator) -> None:
    points = town(rng)
    many = score_releases(points, points + rng.normal(size=(6, *points.shape)) * 100)
    assert many.score.n == 6
    assert many.score.low < float(many.score) < many.score.high
    assert float(many.score) == pytest.approx(np.mean([float(p) for p in many.parts.values()]))


def test_moran_is_the_sum_over_eight_neighbours(rng: Generator) -> None:
    points, values = town(rng), rng.normal(size=60)
    far = distances(points, points)
    weights = np.zeros_like(far)
    for i, row in enumerate(far):
        weights[i, np.argsort(row)[1:9]] = 1
    away = values - values.mean()
    expected = len(points) / weights.sum() * (away @ weights @ away) / (away @ away)
    assert measures.moran(points, values) == pytest.approx(expected)
    assert measures.moran(points, points[:, 0]) > 0.5  # a slope: neighbours are alike
    assert abs(measures.moran(np.repeat(points, 12, axis=0), np.tile(values, 12))) < 1
    with pytest.raises(InputError, match="differ"):
        measures.moran(points, np.ones(60))


def test_knox_counts_pairs_near_in_both(rng: Generator) -> None:
    points, times = town(rng), rng.uniform(0, 1_000, 60)
    near = distances(points, points) <= 150
    soon = np.abs(times[:, None] - times[None]) <= 100
    expected = (np.triu(near & soon, 1)).sum()
    assert measures.knox(points, times, 150, 100) == expected > 0
