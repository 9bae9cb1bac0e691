"""The rose of a release: in which directions its points went, and how far."""

import numpy as np

from veil.core.types import Floats
from veil.places.pictures.sheet import INK, RELEASED, SOFT, TRUE, picture, warning, words
from veil.studies.report.markup import Markup, tag
from veil.studies.report.svg import at

SECTORS = 16
SIDE, HEAD, FOOT = 340.0, 34.0, 26.0
_REACH = 136.0  # of the longest petal


def rose(original: Floats, released: Floats) -> Markup:
    """Draw how points (n, 2) moved, in metres: a petal for each of sixteen directions.

    The area of a petal is the share of the points that went that way; a ring shows what even
    directions would give. Dark is the nearer half of all, light the farther.
    """
    moved = released - original
    far = np.hypot(moved[:, 0], moved[:, 1])
    width, height = SIDE, HEAD + SIDE + FOOT
    x, y = width / 2, HEAD + SIDE / 2
    shares, near = petals(moved)
    top = float(np.sqrt(max(shares.max(), 1 / SECTORS)))
    parts = []
    for sector in range(SECTORS):
        for amount, opacity in ((shares[sector], "0.45"), (near[sector], "0.8")):
            reach = _REACH * float(np.sqrt(amount)) / top
            parts.append(_petal(x, y, sector, reach, opacity))
    ring = _REACH * float(np.sqrt(1 / SECTORS)) / top
    d = f"M{at(x - ring)} {at(y)}a{at(ring)} {at(ring)} 0 1 0 {at(2 * ring)} 0"
    d += f"a{at(ring)} {at(ring)} 0 1 0 {at(-2 * ring)} 0"
    parts.append(tag("path", d=d, fill="none", stroke=TRUE, stroke_dasharray="4 3"))
    for label, dx, dy in (("N", 0, -1), ("E", 1, 0), ("S", 0, 1), ("W", -1, 0)):
        reach = _REACH + 14
        parts.append(words(x + dx * reach, y + dy * reach + 4, label, 12, "middle", SOFT))
    middle, most = np.quantile(far, [0.5, 0.95]).tolist()
    said = f"moved: mean {far.mean():,.0f} m, median {middle:,.0f} m, 95 % within {most:,.0f} m"
    parts.append(words(x, height - 10, said, 11, "middle"))
    parts.append(words(10, 20, "Displacement", 13, fill=INK))
    parts.append(warning(width - 10, 20))
    says = f"Directions of displacement in {SECTORS} petals; {said}."
    return picture(width, height, "Displacement rose", says, *parts)


def petals(moved: Floats) -> tuple[Floats, Floats]:
    """Return the share of points by direction (16,), north first, and of the nearer half alone.

    >>> petals(np.array([[0.0, 1.0], [5.0, 0.0]]))[0][[0, 4]].tolist()
    [0.5, 0.5]
    """
    far = np.hypot(moved[:, 0], moved[:, 1])
    azimuth = np.arctan2(moved[:, 0], moved[:, 1])
    sector = np.rint(azimuth / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    still = far == 0  # went nowhere
    near = (far <= np.median(far)) & ~still
    counts = [np.bincount(sector[one], minlength=SECTORS) for one in (~still, near)]
    return counts[0] / len(moved), counts[1] / len(moved)


def _petal(x: float, y: float, sector: int, reach: float, opacity: str) -> Markup:
    """Draw one petal as a sector of a circle."""
    middle, half = 2 * np.pi * sector / SECTORS, np.pi / SECTORS * 0.92
    points = [
        (x + reach * np.sin(middle + turn), y - reach * np.cos(middle + turn))
        for turn in (-half, half)
    ]
    (x0, y0), (x1, y1) = points
    d = f"M{at(x)} {at(y)}L{at(x0)} {at(y0)}A{at(reach)} {at(reach)} 0 0 1 {at(x1)} {at(y1)}Z"
    return tag("path", d=d, fill=RELEASED, fill_opacity=opacity, class_="petal")
