"""The QuIPU scores of a study."""

from collections.abc import Sequence

from veil.measures.quipu import quipu
from veil.studies._curves import panels
from veil.studies.table import Row


def scores(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, float]]:
    """Return, per curve and attack, the score by each measure of success."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for panel in panels(rows):
        for curve in panel.curves:
            risk = [point.risk.score for point in curve.points]
            utility = [point.utility.score for point in curve.points]
            place = found.setdefault((curve.name, panel.attacker), {})
            place[panel.measure] = quipu(risk, utility)
    return found
