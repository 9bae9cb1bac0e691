"""The utility of a release: the mean of six parts, each 1 when nothing changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.measures.estimate import Estimate, bootstrap
from veil.places.flat import Flat
from veil.places.measures import clustering, position, surface
from veil.places.measures.beside import beside
from veil.places.measures.frame import Frame
from veil.places.points import Points
from veil.places.projection import common
from veil.places.release import Masked, crs_of, releases_of

Part = Callable[[Floats, Floats, Frame], float]

PARTS: Mapping[str, Part] = {
    "ripley": clustering.ripley,
    "neighbours": clustering.neighbours,
    "density": surface.density,
    "hotspots": surface.hotspots,
    "centre": position.centre,
    "dispersion": position.dispersion,
}


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
        `veil.places.measures.beside`.

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


def scored(original: Floats, releases: Floats) -> Utility:
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

    Longitude and latitude are taken to a plane around the original points (`veil.places.flat`).

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
    found = scored(true, seen)
    pumps = None if facilities is None else flat.metres(facilities.xy)
    told = beside(original, true, seen, releases, pumps, values, ordered=ordered)
    return Utility(found.score, found.parts, told)
