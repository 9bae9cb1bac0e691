r"""Utility of a release, and what a map of released points still shows.

Whether points stand as close together as they did: Ripley's K and the Clark-Evans index.

.. math:: K(r) = \frac{A}{n(n-1)} \sum_{i \ne j} [d_{ij} \le r], \quad
   R = \frac{\bar d_{nearest}}{\frac12 \sqrt{A/n}}

Without edge correction; A is the area of the original box on both sides, so that it cancels in
what is compared, and a map whose points lie on one line can be measured too.

References
----------
Ripley. Modelling Spatial Patterns. J. R. Stat. Soc. B 39(2), 1977, Section 4.
Clark, Evans. Distance to Nearest Neighbor as a Measure of Spatial Relationships in Populations.
Ecology 35(4), 1954. doi:10.2307/1931034

Whether like values stand together, and near cases follow each other: Moran's I and Knox.

.. math:: I = \frac{n}{W} \frac{\sum_{ij} w_{ij} (v_i - \bar v)(v_j - \bar v)}
   {\sum_i (v_i - \bar v)^2}, \quad w_{ij} = [j \text{ is one of the 8 nearest of } i]

Knox counts the pairs of points that are near in space and in time at once.

References
----------
Moran. Notes on Continuous Stochastic Phenomena. Biometrika 37, 1950. doi:10.2307/2332142
Knox. The Detection of Space-Time Interactions. Applied Statistics 13(1), 1964.
doi:10.2307/2985220

Whether the map looks the same: a surface of density, and its hottest cells.

.. math:: \hat f(u) \propto \sum_i e^{-|u - x_i|^2 / 2h^2}, \quad h = \frac{SD}{\sqrt 2} n^{-1/6}

on the centres of 64 x 64 cells over the original box, widened by a tenth on each side.

What is shown beside the utility, and is no part of it: figures before and after.
Displacement is in metres. Of facilities the share of points whose nearest one is unchanged, and
the weight of the points of each. With values Moran's I, with times Knox: pairs that are at most a
quarter of the standard distance and a twentieth of the whole time apart.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

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
        """Measure points (n, 2); a single place has no structure that could be kept."""
        if len(xy) < LEAST:
            raise InputError(f"Utility needs at least {LEAST} points; there are {len(xy)}.")
        spread = standard_distance(xy)
        if not spread > 0:
            raise InputError("Utility needs points at two places at least; all are at one.")
        return cls(xy.min(axis=0), xy.max(axis=0), xy.mean(axis=0), spread, len(xy))

    @property
    def sides(self) -> Floats:
        """Width and height (2,) of the box."""
        return self.high - self.low

    @property
    def area(self) -> float:
        """Square metres of the box."""
        return float(np.prod(self.sides))


def standard_distance(xy: Floats) -> float:
    """Return the root mean squared distance of points (n, 2) to their mean.

    >>> standard_distance(np.array([[0.0, 0.0], [6.0, 8.0]]))
    5.0
    """
    return float(np.sqrt(np.square(xy - xy.mean(axis=0)).sum(axis=1).mean()))


class Measure(Component):
    """Compares a released map with the true one, whatever the order of their points.

    1 is the true map itself, 0 is worth nothing.
    """

    @abstractmethod
    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        """Return how alike two maps are, from 0 to 1; both are (n, 2) in metres."""


Part = Callable[[Floats, Floats, Frame], float]


def alike(one: float, other: float) -> float:
    """Return the smaller divided by the larger of two amounts; 1 if both are 0.

    >>> alike(2.0, 4.0), alike(0.0, 0.0)
    (0.5, 1.0)
    """
    largest = max(one, other)
    return min(one, other) / largest if largest > 0 else 1.0


STEPS = 20  # radii, up to a quarter of the shorter side


def radii(frame: Frame) -> Floats:
    """Return the radii (20,) at which K is compared."""
    return np.arange(1, STEPS + 1) / STEPS * (float(frame.sides.min()) / 4)


def pairs_within(xy: Floats, distances: Floats) -> Floats:
    """Return how many ordered pairs of points (n, 2) are at most that far apart, for each."""
    points = tree(xy)
    found = points.count_neighbors(points, distances)
    return np.asarray(found, dtype=np.float64) - len(xy)  # each is its own neighbour


def nearest(xy: Floats) -> Floats:
    """Return the distance (n,) of each point to its nearest other."""
    distances, _ = tree(xy).query(xy, k=2)
    return np.asarray(distances[:, 1], dtype=np.float64)


def clark_evans(xy: Floats, frame: Frame) -> float:
    """Return the Clark-Evans index: 1 for points at random, less where they stand in clusters."""
    usual = 0.5 * float(np.sqrt(frame.area / frame.n))
    return float(nearest(xy).mean()) / usual if usual else float("nan")


class Ripley(Measure):
    """Ripley's K of both maps: 1 - sum |K_o - K_m| / sum max(K_o, K_m)."""

    name: ClassVar[str] = "ripley"

    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        """Compare a released map with the true one."""
        before = pairs_within(original, radii(frame))
        after = pairs_within(released, radii(frame))
        most = float(np.maximum(before, after).sum())
        return 1 - float(np.abs(before - after).sum()) / most if most else 1.0


class Neighbours(Measure):
    """Mean distances to the nearest neighbour, the smaller by the larger."""

    name: ClassVar[str] = "neighbours"

    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        """Compare a released map with the true one."""
        del frame  # it is the same on both sides
        return alike(float(nearest(original).mean()), float(nearest(released).mean()))


NEIGHBOURS = 8
_MOST = 20_000_000  # near pairs that are held at once: about 320 MB


def moran(xy: Floats, values: Floats, neighbours: int = NEIGHBOURS) -> float:
    """Return Moran's I of values (n,) at points (n, 2); near 0 where they stand at random."""
    k = min(neighbours, len(xy) - 1)
    away = values - values.mean()
    total = float(away @ away)
    if not total > 0:
        raise InputError("Moran's I needs values that differ; all are the same.")
    _, found = tree(xy).query(xy, k=k + 1)
    own = found == np.arange(len(xy))[:, None]  # need not come first among points of one place
    near = np.take_along_axis(found, np.argsort(own, axis=1, kind="stable")[:, :k], axis=1)
    return float(away[near].sum(axis=1) @ away) / (k * total)


def knox(xy: Floats, times: Floats, metres: float, seconds: float) -> int:
    """Return how many pairs are at most `metres` and `seconds` apart."""
    points = tree(xy)
    count = (int(points.count_neighbors(points, metres)) - len(xy)) // 2
    if count > _MOST:
        raise InputError(
            f"{count:,} pairs are near in space, and at most {_MOST:,} can be looked at; give a"
            " smaller distance."
        )
    pairs = points.query_pairs(metres, output_type="ndarray")  # (pairs, 2)
    return int((np.abs(times[pairs[:, 0]] - times[pairs[:, 1]]) <= seconds).sum())


@dataclass(frozen=True, eq=False)
class Served:
    """The facilities that points are nearest to.

    Attributes
    ----------
    kept
        (m,) share of the points whose nearest facility is unchanged, by release.
    before, after
        Weight of the points by facility: (f,) of the original, (m, f) of the releases.
    """

    kept: Floats
    before: Floats
    after: Floats


def nearest_facility(places: Floats, facilities: Floats) -> Ids:
    """Return the number (n,) of the facility (f, 2) that is nearest to each place (n, 2)."""
    _, found = tree(facilities).query(places)
    return np.asarray(found, dtype=np.int64)


def compare_facilities(
    original: Floats, releases: Floats, facilities: Floats, weights: Floats
) -> Served:
    """Compare the nearest facilities (f, 2) of points (n, 2) and of their releases (m, n, 2)."""
    before = nearest_facility(original, facilities)
    after = np.stack([nearest_facility(released, facilities) for released in releases])
    counts = np.stack([_weight(one, weights, len(facilities)) for one in (before, *after)])
    return Served((after == before).mean(axis=1), counts[0], counts[1:])


def _weight(nearest: Ids, weights: Floats, count: int) -> Floats:
    found: Floats = np.bincount(nearest, weights, minlength=count).astype(np.float64)
    return found


class Centre(Measure):
    """1 - min(1, distance of the two mean centres / standard distance)."""

    name: ClassVar[str] = "centre"

    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        """Compare a released map with the true one."""
        del original  # its centre is that of the frame
        away = float(np.linalg.norm(released.mean(axis=0) - frame.centre))
        return 1 - min(1.0, away / frame.spread)


class Dispersion(Measure):
    """Standard distances, the smaller by the larger."""

    name: ClassVar[str] = "dispersion"

    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        """Compare a released map with the true one."""
        del original
        return alike(frame.spread, standard_distance(released))


CELLS = 64
HOT = 410  # a tenth of the cells
_BLOCK = 65_536  # points at a time: 64 MB


def bandwidth(frame: Frame) -> float:
    """Return the width of the kernel in metres."""
    return float(frame.spread / np.sqrt(2) * frame.n ** (-1 / 6))


def centres(frame: Frame) -> tuple[Floats, Floats]:
    """Return where the columns (64,) and the rows (64,) of cells have their middle."""
    steps = (np.arange(CELLS) + 0.5) / CELLS
    low, sides = frame.low - 0.1 * frame.sides, 1.2 * frame.sides
    return low[0] + steps * sides[0], low[1] + steps * sides[1]


def surface(xy: Floats, frame: Frame) -> Floats:
    """Return the density (64, 64) of points (n, 2), rows of cells going north, up to a factor."""
    columns, rows = centres(frame)
    width = 2 * bandwidth(frame) ** 2
    found: Floats = np.zeros((CELLS, CELLS))
    for start in range(0, len(xy), _BLOCK):
        part = xy[start : start + _BLOCK]
        across = np.exp(-np.square(part[:, :1] - columns) / width)  # (b, 64)
        along = np.exp(-np.square(part[:, 1:] - rows) / width)
        found += along.T @ across
    return found


def hottest(cells: Floats) -> Ids:
    """Return the numbers of the densest tenth of the cells; of equal ones the first."""
    return np.argsort(-cells.ravel(), kind="stable")[:HOT]


class Density(Measure):
    """Correlation of the two surfaces, or 0 if it is below 0."""

    name: ClassVar[str] = "density"

    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        """Compare a released map with the true one."""
        before, after = surface(original, frame).ravel(), surface(released, frame).ravel()
        before, after = before - before.mean(), after - after.mean()
        size = float(np.linalg.norm(before) * np.linalg.norm(after))
        return min(1.0, max(0.0, float(before @ after) / size)) if size else 0.0


class Hotspots(Measure):
    """Jaccard index of the hottest cells of both maps."""

    name: ClassVar[str] = "hotspots"

    def value(self, original: Floats, released: Floats, frame: Frame) -> float:
        """Compare a released map with the true one."""
        before = hottest(surface(original, frame))
        after = hottest(surface(released, frame))
        both = len(np.intersect1d(before, after))
        return both / (2 * HOT - both)


NEAR, SOON = 1 / 4, 1 / 20  # of the standard distance, and of the whole time


def other_figures(
    original: Points,
    true: Floats,
    seen: Floats,
    releases: Floats,
    facilities: Floats | None = None,
    values: Floats | None = None,
    *,
    ordered: bool = True,
) -> dict[str, Estimate]:
    """Return figures by name, each a mean over the releases (m, n, 2) with its interval.

    `true` (n, 2) and `seen` (m, n, 2) are the same points in metres of a plane.
    """
    found: dict[str, Estimate] = {}
    if ordered:
        found |= _displacement(original, releases)
    if facilities is not None:
        found |= _facilities(original, true, seen, facilities, ordered)
    if ordered and values is not None:
        found |= _moran(true, seen, values)
    if ordered and original.times is not None:
        found |= _knox(true, seen, original.times)
    return found


def _displacement(original: Points, releases: Floats) -> dict[str, Estimate]:
    metres = np.stack([distance(one, original.xy, original.crs) for one in releases])
    return {
        "mean displacement": bootstrap(metres.mean(axis=1)),
        "median displacement": bootstrap(np.median(metres, axis=1)),
        "95 % displacement": bootstrap(np.quantile(metres, 0.95, axis=1)),
    }


def _facilities(
    original: Points, true: Floats, seen: Floats, facilities: Floats, ordered: bool
) -> dict[str, Estimate]:
    weights = np.ones(len(true)) if original.weights is None else original.weights
    found = compare_facilities(true, seen, facilities, weights)
    told = {"same facility": bootstrap(found.kept)} if ordered else {}
    for number, (before, after) in enumerate(zip(found.before, found.after.T, strict=True), 1):
        told[f"facility {number} before"] = bootstrap([before])
        if ordered:  # weights go with the rows
            told[f"facility {number} after"] = bootstrap(after)
    return told


def _moran(true: Floats, seen: Floats, values: Floats) -> dict[str, Estimate]:
    given = np.asarray(values, dtype=np.float64)
    if given.shape != (len(true),) or not np.isfinite(given).all():
        raise InputError("Moran's I needs one finite value for each point.")
    return {
        "Moran's I before": bootstrap([moran(true, given)]),
        "Moran's I after": bootstrap([moran(one, given) for one in seen]),
    }


def _knox(true: Floats, seen: Floats, times: Floats) -> dict[str, Estimate]:
    near, soon = NEAR * standard_distance(true), SOON * float(np.ptp(times))
    return {
        "Knox pairs before": bootstrap([knox(true, times, near, soon)]),
        "Knox pairs after": bootstrap([knox(one, times, near, soon) for one in seen]),
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
"""The six measures whose mean is the utility; those of plugins are shown beside it."""


@dataclass(frozen=True, eq=False)
class Utility:
    """What a release is still worth, in [0, 1], and what is shown beside it.

    Attributes
    ----------
    score
        The mean of the parts.
    parts
        By name: ripley, neighbours, density, hotspots, centre, dispersion.
    beside
        What is not in the score, by name: displacement in metres, facilities, Moran's I, Knox; see
        `veil.places.measures`.

    Each is a mean over the releases, with the 95 % bootstrap interval over them; one release shows
    no variation, and its interval says nothing.
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
    found = [parts_of(original, released) for released in releases]
    parts = {name: bootstrap([one[name] for one in found]) for name in PARTS}
    return Utility(bootstrap([float(np.mean(list(one.values()))) for one in found]), parts)


def utility(
    original: Points,
    masked: Masked,
    facilities: Points | None = None,
    *,
    values: Floats | None = None,
    ordered: bool = True,
) -> Utility:
    """Return what a release is still worth, and figures beside it.

    Longitude and latitude are taken to a plane around the original points (see
    `veil.places.projection`).

    Parameters
    ----------
    masked
        Points, a Release, or an array (m, n, 2) of m releases of the same n points.
    facilities
        Pumps, clinics, shops: is the nearest one still the same?
    values
        (n,) a value of each point, for Moran's I.
    ordered
        Whether the rows of both are of the same subjects. Where they are not, which the six parts
        do not mind, nothing is said of single points.
    """
    codes = [crs_of(masked, original), original.crs]
    common(*codes, *([facilities.crs] if facilities is not None else []))
    releases = releases_of(masked)
    if releases.shape[1] != len(original):
        raise InputError(
            f"There must be as many released points as originals: {len(original):,} and not"
            f" {releases.shape[1]:,}."
        )
    flat = Flat.around(original.xy, original.crs)
    true, seen = flat.metres(original.xy), flat.metres(releases)
    found = score_releases(true, seen)
    pumps = None if facilities is None else flat.metres(facilities.xy)
    others = other_figures(original, true, seen, releases, pumps, values, ordered=ordered)
    return Utility(found.score, found.parts, _plugin_figures(true, seen) | others)


def _plugin_figures(true: Floats, seen: Floats) -> dict[str, Estimate]:
    """Return the measures of other packages, each a mean over the releases."""
    frame = Frame.of(true)
    return {
        name: bootstrap([MEASURES.parse(name).value(true, released, frame) for released in seen])
        for name in MEASURES.names()
        if name not in PARTS
    }
