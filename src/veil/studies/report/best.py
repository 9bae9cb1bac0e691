"""The few curves that are drawn at first; many at once cannot be told apart."""

from collections.abc import Callable, Sequence

from veil.studies.curves import Panel, Point
from veil.studies.table import Row

FEW = 5
_ALL = 7  # so many are drawn without a choice


def best(found: Sequence[Panel], stop: Callable[[Row], str | None] | None = None) -> list[str]:
    """Return the names of the curves to draw at first, in the order that they have.

    Those with the most stops of the slider, if there are any, come first; then those with the
    largest share of the points that no other one beats, over all planes.
    """
    names = list(dict.fromkeys(curve.name for panel in found for curve in panel.curves))
    if len(names) <= _ALL:
        return names
    shares = dict.fromkeys(names, 0.0)
    stops: dict[str, set[str]] = {}
    for panel in found:
        front = _front(panel)
        for name, _ in front:
            shares[name] += 1 / len(front)
        for curve in panel.curves:
            told = {stop(point.risk) or "" for point in curve.points} if stop else set()
            stops.setdefault(curve.name, set()).update(told - {""})
    first = sorted(names, key=lambda name: (-len(stops[name]), -shares[name]))[:FEW]
    return [name for name in names if name in first]


def _front(panel: Panel) -> list[tuple[str, Point]]:
    """Return the points of a plane that no other one beats."""
    points = [(curve.name, point) for curve in panel.curves for point in curve.points]
    return [one for one in points if not any(_beats(two, one[1]) for _, two in points)]


def _beats(one: Point, two: Point) -> bool:
    risk, utility = one.risk.score - two.risk.score, one.utility.score - two.utility.score
    return risk <= 0 <= utility and (risk < 0 or utility > 0)
