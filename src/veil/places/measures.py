r"""Measures of a released map against the original one.

Clustering of points: Ripley's K and the Clark-Evans index.

.. math:: K(r) = \frac{A}{n(n-1)} \sum_{i \ne j} [d_{ij} \le r], \quad
   R = \frac{\bar d_{nearest}}{\frac12 \sqrt{A/n}}

There is no edge correction. A is the area of the original box for both maps, so it cancels in the
comparison, and collinear points can be measured too.

References
----------
Ripley. Modelling Spatial Patterns. J. R. Stat. Soc. B 39(2), 1977, Section 4.
Clark, Evans. Distance to Nearest Neighbor as a Measure of Spatial Relationships in Populations.
Ecology 35(4), 1954. doi:10.2307/1931034

Clustering of values, and of cases in space and time: Moran's I and Knox.

.. math:: I = \frac{n}{W} \frac{\sum_{ij} w_{ij} (v_i - \bar v)(v_j - \bar v)}
   {\sum_i (v_i - \bar v)^2}, \quad w_{ij} = [j \text{ is one of the 8 nearest of } i]

Knox counts the pairs of points that are near in both space and time.

References
----------
Moran. Notes on Continuous Stochastic Phenomena. Biometrika 37, 1950. doi:10.2307/2332142
Knox. The Detection of Space-Time Interactions. Applied Statistics 13(1), 1964.
doi:10.2307/2985220

Density surface, and its hottest cells:

.. math:: \hat f(u) \propto \sum_i e^{-|u - x_i|^2 / 2h^2}, \quad h = \frac{SD}{\sqrt 2} n^{-1/6}

on the centres of 64 x 64 cells over the original box, widened by a tenth on each side.

Other figures, which are not part of the utility: displacement in metres; with facilities, the
share of points whose nearest facility is unchanged, and the weight of the points of each facility
before and after; with values, Moran's I; with times, Knox pairs at most a quarter of the standard
distance and a twentieth of the whole time apart.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from typing_extensions import override

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.estimate import Estimate, bootstrap
from veil.core.registry import Registry
from veil.core.types import Floats, Ids
from veil.places.neighbours import tree
from veil.places.points import Points
from veil.places.projection import Flat, common, distance
from veil.places.release import Masked, crs_of, releases_of

LEAST = 3  # points


@dataclass(frozen=True, eq=False)
class Frame:
    """The box, the mean centre and the standard distance of the original points, in metres.

    Attributes
    ----------
    low, high
        (2,) corners of the bounding box.
    centre
        (2,) mean of the points.
    spread
        Root mean squared distance to the centre, the standard distance.
    n
        Number of points.
    """

    low: Floats
    high: Floats
    centre: Floats
    spread: float
    n: int

    @classmethod
    def of(cls, xy: Floats) -> "Frame":
        """Return the frame of points (n, 2), which must be at two places at least."""
        if len(xy) < LEAST:
            raise InputError(f"Utility needs at least {LEAST} points. Got {len(xy)} instead.")
        spread = standard_distance(xy)
        if not spread > 0:
            raise InputError("Utility needs points at two or more places. All are at one place.")
        return cls(xy.min(axis=0), xy.max(axis=0), xy.mean(axis=0), spread, len(xy))

    @property
    def sides(self) -> Floats:
        """Width and height (2,) of the box."""
        return self.high - self.low

    @property
    def area(self) -> float:
        """Area of the box in square metres."""
        return float(np.prod(self.sides))


def standard_distance(xy: Floats) -> float:
    """Return the root mean squared distance of points (n, 2) to their mean.

    >>> standard_distance(np.array([[0.0, 0.0], [6.0, 8.0]]))
    5.0
    """
    return float(np.sqrt(np.square(xy - xy.mean(axis=0)).sum(axis=1).mean()))


class Measure(Component):
    """Compares a released map with the true one, from 1 (identical) to 0 (worthless).

    The order of the points does not matter.
    """

    @abstractmethod
    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        """Return the similarity of two maps (n, 2) in metres, from 0 to 1."""


Part = Callable[[Floats, Floats, Frame], float]


def alike(first: float, second: float) -> float:
    """Return the smaller divided by the larger of two amounts; 1 if both are 0.

    >>> alike(2.0, 4.0), alike(0.0, 0.0)
    (0.5, 1.0)
    """
    largest = max(first, second)
    return min(first, second) / largest if largest > 0 else 1.0


STEPS = 20  # radii, up to a quarter of the shorter side


def radii(frame: Frame) -> Floats:
    """Return the radii (20,) at which K is compared."""
    return np.arange(1, STEPS + 1) / STEPS * (float(frame.sides.min()) / 4)


def pairs_within(xy: Floats, distances: Floats) -> Floats:
    """Return the number of ordered pairs of points (n, 2) within each of the distances."""
    points = tree(xy)
    counts = points.count_neighbors(points, distances)
    return np.asarray(counts, dtype=np.float64) - len(xy)  # each point is its own neighbour


def nearest(xy: Floats) -> Floats:
    """Return the distance (n,) of each point to its nearest other."""
    distances, _ = tree(xy).query(xy, k=2)
    return np.asarray(distances[:, 1], dtype=np.float64)


def clark_evans(xy: Floats, frame: Frame) -> float:
    """Return the Clark-Evans index: 1 for random points, less for clustered ones."""
    usual = 0.5 * float(np.sqrt(frame.area / frame.n))
    return float(nearest(xy).mean()) / usual if usual else float("nan")


class Ripley(Measure):
    """Ripley's K of both maps: 1 - sum |K_o - K_m| / sum max(K_o, K_m)."""

    name: ClassVar[str] = "ripley"

    @override
    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        before = pairs_within(original, radii(frame))
        after = pairs_within(released, radii(frame))
        most = float(np.maximum(before, after).sum())
        return 1 - float(np.abs(before - after).sum()) / most if most else 1.0


class Neighbours(Measure):
    """Ratio of the mean distances to the nearest neighbour, the smaller over the larger."""

    name: ClassVar[str] = "neighbours"

    @override
    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        del frame  # it is the same on both sides
        return alike(float(nearest(original).mean()), float(nearest(released).mean()))


NEIGHBOURS = 8
_MOST = 20_000_000  # near pairs in memory: about 320 MB


def moran(xy: Floats, values: Floats, neighbours: int = NEIGHBOURS) -> float:
    """Return Moran's I of values (n,) at points (n, 2), near 0 for random places."""
    k = min(neighbours, len(xy) - 1)
    away = values - values.mean()
    total = float(away @ away)
    if not total > 0:
        raise InputError("Moran's I needs values that differ. All are equal.")
    _, rows = tree(xy).query(xy, k=k + 1)
    own = rows == np.arange(len(xy))[:, None]  # not always first if points share a place
    near = np.take_along_axis(rows, np.argsort(own, axis=1, kind="stable")[:, :k], axis=1)
    return float(away[near].sum(axis=1) @ away) / (k * total)


def knox(xy: Floats, times: Floats, metres: float, seconds: float) -> int:
    """Return the number of pairs at most `metres` and `seconds` apart."""
    points = tree(xy)
    count = (int(points.count_neighbors(points, metres)) - len(xy)) // 2
    if count > _MOST:
        raise InputError(
            f"At most {_MOST:,} pairs may be near in space. Got {count:,} instead. Try a smaller"
            " distance."
        )
    pairs = points.query_pairs(metres, output_type="ndarray")  # (pairs, 2)
    return int((np.abs(times[pairs[:, 0]] - times[pairs[:, 1]]) <= seconds).sum())


@dataclass(frozen=True, eq=False)
class Served:
    """Comparison of the nearest facilities of points before and after a release.

    Attributes
    ----------
    unchanged
        (m,) share of the points whose nearest facility is unchanged, by release.
    before, after
        Weight of the points by facility: (f,) of the original, (m, f) of the releases.
    """

    unchanged: Floats
    before: Floats
    after: Floats


def nearest_facility(places: Floats, facilities: Floats) -> Ids:
    """Return the index (n,) of the facility (f, 2) nearest to each place (n, 2)."""
    _, rows = tree(facilities).query(places)
    return np.asarray(rows, dtype=np.int64)


def compare_facilities(
    original: Floats, releases: Floats, facilities: Floats, weights: Floats
) -> Served:
    """Compare the nearest facilities (f, 2) of points (n, 2) and of their releases (m, n, 2)."""
    before = nearest_facility(original, facilities)
    after = np.stack([nearest_facility(released, facilities) for released in releases])
    counts = np.stack([_weight(rows, weights, len(facilities)) for rows in (before, *after)])
    return Served((after == before).mean(axis=1), counts[0], counts[1:])


def _weight(nearest: Ids, weights: Floats, count: int) -> Floats:
    totals: Floats = np.bincount(nearest, weights, minlength=count).astype(np.float64)
    return totals


class Centre(Measure):
    """1 - min(1, distance of the two mean centres / standard distance)."""

    name: ClassVar[str] = "centre"

    @override
    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        del original  # its centre is that of the frame
        away = float(np.linalg.norm(released.mean(axis=0) - frame.centre))
        return 1 - min(1.0, away / frame.spread)


class Dispersion(Measure):
    """Ratio of the standard distances, the smaller over the larger."""

    name: ClassVar[str] = "dispersion"

    @override
    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        del original
        return alike(frame.spread, standard_distance(released))


CELLS = 64
HOT = 410  # a tenth of the cells
_BLOCK = 65_536  # points at a time: 64 MB


def bandwidth(frame: Frame) -> float:
    """Return the width of the kernel in metres."""
    return float(frame.spread / np.sqrt(2) * frame.n ** (-1 / 6))


def centres(frame: Frame) -> tuple[Floats, Floats]:
    """Return the centres of the columns (64,) and the rows (64,) of cells."""
    steps = (np.arange(CELLS) + 0.5) / CELLS
    low, sides = frame.low - 0.1 * frame.sides, 1.2 * frame.sides
    return low[0] + steps * sides[0], low[1] + steps * sides[1]


def surface(xy: Floats, frame: Frame) -> Floats:
    """Return the density (64, 64) of points (n, 2) up to a factor; rows go north."""
    columns, rows = centres(frame)
    width = 2 * bandwidth(frame) ** 2
    density: Floats = np.zeros((CELLS, CELLS))
    for start in range(0, len(xy), _BLOCK):
        part = xy[start : start + _BLOCK]
        across = np.exp(-np.square(part[:, :1] - columns) / width)  # (b, 64)
        along = np.exp(-np.square(part[:, 1:] - rows) / width)
        density += along.T @ across
    return density


def hottest(cells: Floats) -> Ids:
    """Return the indices of the densest tenth of the cells; ties go to the lower index."""
    return np.argsort(-cells.ravel(), kind="stable")[:HOT]


class Density(Measure):
    """Correlation of the two surfaces, or 0 if it is below 0."""

    name: ClassVar[str] = "density"

    @override
    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        before, after = surface(original, frame).ravel(), surface(released, frame).ravel()
        before, after = before - before.mean(), after - after.mean()
        size = float(np.linalg.norm(before) * np.linalg.norm(after))
        return min(1.0, max(0.0, float(before @ after) / size)) if size else 0.0


class Hotspots(Measure):
    """Jaccard index of the hottest cells of both maps."""

    name: ClassVar[str] = "hotspots"

    @override
    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        before = hottest(surface(original, frame))
        after = hottest(surface(released, frame))
        common_cells = len(np.intersect1d(before, after))
        return common_cells / (2 * HOT - common_cells)


NEAR, SOON = 1 / 4, 1 / 20  # of the standard distance, and of the whole time


def other_figures(
    original: Points,
    true: Floats,
    masked: Floats,
    releases: Floats,
    facilities: Floats | None = None,
    values: Floats | None = None,
    *,
    ordered: bool = True,
) -> dict[str, Estimate]:
    """Return figures by name, each a mean over the releases (m, n, 2) with its interval.

    `true` (n, 2) and `masked` (m, n, 2) are the originals and releases in metres of a plane.
    """
    figures: dict[str, Estimate] = {}
    if ordered:
        figures |= _displacement(original, releases)
    if facilities is not None:
        figures |= _facilities(original, true, masked, facilities, ordered)
    if ordered and values is not None:
        figures |= _moran(true, masked, values)
    if ordered and original.times is not None:
        figures |= _knox(true, masked, original.times)
    return figures


def _displacement(original: Points, releases: Floats) -> dict[str, Estimate]:
    metres = np.stack([distance(places, original.xy, original.crs) for places in releases])
    return {
        "mean displacement": bootstrap(metres.mean(axis=1)),
        "median displacement": bootstrap(np.median(metres, axis=1)),
        "95 % displacement": bootstrap(np.quantile(metres, 0.95, axis=1)),
    }


def _facilities(
    original: Points, true: Floats, masked: Floats, facilities: Floats, ordered: bool
) -> dict[str, Estimate]:
    weights = np.ones(len(true)) if original.weights is None else original.weights
    served = compare_facilities(true, masked, facilities, weights)
    figures = {"same facility": bootstrap(served.unchanged)} if ordered else {}
    for number, (before, after) in enumerate(zip(served.before, served.after.T, strict=True), 1):
        figures[f"facility {number} before"] = bootstrap([before])
        if ordered:  # weights are per row
            figures[f"facility {number} after"] = bootstrap(after)
    return figures


def _moran(true: Floats, masked: Floats, values: Floats) -> dict[str, Estimate]:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(true),) or not np.isfinite(array).all():
        raise InputError("Moran's I needs one finite value for each point.")
    return {
        "Moran's I before": bootstrap([moran(true, array)]),
        "Moran's I after": bootstrap([moran(places, array) for places in masked]),
    }


def _knox(true: Floats, masked: Floats, times: Floats) -> dict[str, Estimate]:
    near, soon = NEAR * standard_distance(true), SOON * float(np.ptp(times))
    return {
        "Knox pairs before": bootstrap([knox(true, times, near, soon)]),
        "Knox pairs after": bootstrap([knox(places, times, near, soon) for places in masked]),
    }


MEASURES: Registry[Measure] = Registry(
    noun="measure of a map",
    group="veil.measures.places",
    builtin={
        "centre": "veil.places.measures:Centre",
        "density": "veil.places.measures:Density",
        "dispersion": "veil.places.measures:Dispersion",
        "hotspots": "veil.places.measures:Hotspots",
        "neighbours": "veil.places.measures:Neighbours",
        "ripley": "veil.places.measures:Ripley",
    },
)
"""Measures of a map, also of plugins: `names()`, `get(name)`, `parse(spec)`."""

PARTS: Mapping[str, Part] = {
    part.name: part.value
    for part in (Ripley(), Neighbours(), Density(), Hotspots(), Centre(), Dispersion())
}
"""The six measures whose mean is the utility; plugin measures are reported separately."""


@dataclass(frozen=True, eq=False)
class Utility:
    """The utility of a release in [0, 1], and other figures.

    Attributes
    ----------
    score
        The mean of the parts.
    parts
        By name: ripley, neighbours, density, hotspots, centre, dispersion.
    beside
        Figures that are not in the score, by name: displacement in metres, facilities, Moran's I,
        Knox; see `veil.places.measures`.

    Each figure is a mean over the releases, with its 95 % bootstrap interval. The interval of a
    single release is meaningless.
    """

    score: Estimate
    parts: Mapping[str, Estimate]
    beside: Mapping[str, Estimate] = field(default_factory=dict)


def parts_of(original: Floats, released: Floats) -> dict[str, float]:
    """Return the six parts of one release; both are (n, 2) in metres, in the same order."""
    frame = Frame.of(original)
    return {name: part(original, released, frame) for name, part in PARTS.items()}


def score_releases(original: Floats, releases: Floats) -> Utility:
    """Return the utility of releases (m, n, 2) of points (n, 2), all in metres of one plane."""
    rows = [parts_of(original, released) for released in releases]
    parts = {name: bootstrap([row[name] for row in rows]) for name in PARTS}
    return Utility(bootstrap([float(np.mean(list(row.values()))) for row in rows]), parts)


def utility(
    original: Points,
    masked: Masked,
    facilities: Points | None = None,
    *,
    values: Floats | None = None,
    ordered: bool = True,
) -> Utility:
    """Return the utility of a release, and other figures.

    Longitude and latitude are projected to a plane around the original points (see
    `veil.places.projection`).

    Parameters
    ----------
    masked
        Points, a Release, or an array (m, n, 2) of m releases of the same n points.
    facilities
        Places such as pumps, clinics or shops, to check whether the nearest is still the same.
    values
        (n,) a value of each point, for Moran's I.
    ordered
        Whether the rows of both are of the same subjects. If not, the figures that compare single
        points are left out; the six parts need no order.
    """
    codes = [crs_of(masked, original), original.crs]
    common(*codes, *([facilities.crs] if facilities is not None else []))
    releases = releases_of(masked)
    if releases.shape[1] != len(original):
        raise InputError(
            f"There must be {len(original):,} released points, one per original. Got"
            f" {releases.shape[1]:,} instead."
        )
    flat = Flat.around(original.xy, original.crs)
    true, flat_releases = flat.metres(original.xy), flat.metres(releases)
    result = score_releases(true, flat_releases)
    sites = None if facilities is None else flat.metres(facilities.xy)
    others = other_figures(original, true, flat_releases, releases, sites, values, ordered=ordered)
    return Utility(result.score, result.parts, _plugin_figures(true, flat_releases) | others)


def _plugin_figures(true: Floats, masked: Floats) -> dict[str, Estimate]:
    """Return the values of plugin measures, each a mean over the releases."""
    frame = Frame.of(true)
    return {
        name: bootstrap([MEASURES.parse(name).value(true, released, frame) for released in masked])
        for name in MEASURES.names()
        if name not in PARTS
    }
