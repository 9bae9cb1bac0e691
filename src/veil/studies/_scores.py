"""The table of QuIPU scores, laid out as Table 2 of the paper that defines them."""

from collections.abc import Sequence

from veil.studies._curves import Panel
from veil.studies._markup import Markup, join, number, tag
from veil.studies._tables import table

STRATEGIES = {
    "custext": "Sampling",
    "santext": "Sampling",
    "tem": "Sampling",
    "wbb": "Sampling",
    "cmp": "Embedding perturbation",
    "mahalanobis": "Embedding perturbation",
    "vickrey": "Embedding perturbation",
    "vickreycmp": "Embedding perturbation",
    "vickreymhl": "Embedding perturbation",
    "aea": "Heuristics",
    "fea": "Heuristics",
    "scramble": "Heuristics",
}
_ORDER = ("Sampling", "Embedding perturbation", "Heuristics", "Other")

_Column = tuple[str, str]  # measure, collection and engine
_Score = tuple[float, int]  # the score and from how many points


def scores(panels: Sequence[Panel]) -> list[Markup]:
    """Return a table for each attacker: mechanisms by measures of success and collections."""
    return [
        _table(attacker, [panel for panel in panels if panel.attacker == attacker])
        for attacker in dict.fromkeys(panel.attacker for panel in panels if panel.curves)
    ]


def strategy(mechanism: str) -> str:
    """Name the family of a mechanism, as the paper groups them."""
    return STRATEGIES.get(mechanism.casefold(), "Other")


def _table(attacker: str, panels: Sequence[Panel]) -> Markup:
    from veil.measures.quipu import quipu

    several = len({panel.engine for panel in panels}) > 1
    cells: dict[tuple[str, str], dict[_Column, _Score]] = {}
    columns: dict[_Column, None] = {}
    for panel in panels:
        place = f"{panel.collection}, {panel.engine}" if several else panel.collection
        for curve in panel.curves:
            risk = [point.risk.score for point in curve.points]
            utility = [point.utility.score for point in curve.points]
            row = cells.setdefault((strategy(curve.points[0].risk.mechanism), curve.name), {})
            row[panel.measure, place] = (quipu(risk, utility), len(risk))
            columns[panel.measure, place] = None
    measures = dict.fromkeys(measure for measure, _ in columns)
    ordered = [column for measure in measures for column in columns if column[0] == measure]
    best = {
        column: max((row[column][0] for row in cells.values() if _scored(row, column)), default=2)
        for column in ordered
    }
    body = []
    for group in _ORDER:
        inside = [(name, row) for (of, name), row in cells.items() if of == group]
        for i, (name, row) in enumerate(inside):
            first = tag("th", group, scope="rowgroup", rowspan=len(inside)) if not i else ""
            shown = (_cell(row.get(column), best[column]) for column in ordered)
            body.append(tag("tr", first, tag("th", name, scope="row"), *shown))
    return table(f"QuIPU scores against {attacker}", _heads(ordered), body)


def _scored(row: dict[_Column, _Score], column: _Column) -> bool:
    return column in row and row[column][1] > 1


def _cell(score: _Score | None, best: float) -> Markup:
    if score is None:
        return tag("td", "–")
    value, points = score
    if points == 1:
        return tag("td", number(value), "†")
    shown = number(value)
    return tag("td", tag("strong", shown) if shown == number(best) else join(shown))


def _heads(columns: Sequence[_Column]) -> list[Markup]:
    measures = dict.fromkeys(measure for measure, _ in columns)
    upper = [
        tag("th", f"{measure} attacker", scope="colgroup",
            colspan=sum(column[0] == measure for column in columns))
        for measure in measures
    ]  # fmt: skip
    sides = [tag("th", name, scope="col", rowspan=2) for name in ("strategy", "mechanism")]
    lower = [tag("th", place, scope="col") for _, place in columns]
    return [tag("tr", *sides, *upper), tag("tr", *lower)]
