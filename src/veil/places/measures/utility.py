"""The utility of a release: the mean of six parts, each 1 when nothing changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from veil.core.types import Floats
from veil.measures.estimate import Estimate, bootstrap
from veil.places.measures import clustering, position, surface
from veil.places.measures.frame import Frame

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
        What is not in the score, by name: displacement in metres, facilities, Moran's I, Knox.

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
