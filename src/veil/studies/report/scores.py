"""The table of QuIPU scores, laid out as Table 2 of the paper that defines them."""

import math
from collections.abc import Sequence

from veil.studies import DEFAULT
from veil.studies.domains import OTHER, method, words_of
from veil.studies.experiment import Vocabulary
from veil.studies.report.markup import Markup, interval, join, number, tag
from veil.studies.report.tables import table
from veil.studies.table import Score

_Column = tuple[str, str]  # measure, data and task


def score_tables(scores: Sequence[Score]) -> list[Markup]:
    """Return a table for each attacker: mechanisms by measures of success and data."""
    return [
        _table(attacker, [score for score in scores if score.attacker == attacker])
        for attacker in dict.fromkeys(score.attacker for score in scores)
    ]


def strategy(mechanism: str, domain: str = DEFAULT) -> str:
    """Name the family of a mechanism, as it declares it; of one that is not known, `OTHER`."""
    return str(getattr(method(domain, mechanism.casefold()), "family", OTHER))


def _order(family: str, words: Vocabulary) -> tuple[int, str]:
    known = words.families
    place = known.index(family) if family in known else len(known) + (family == OTHER)
    return place, family


def _table(attacker: str, scores: Sequence[Score]) -> Markup:
    several = len({score.task for score in scores}) > 1
    words = words_of(scores[0].domain)
    cells: dict[tuple[str, str], dict[_Column, Score]] = {}
    columns: dict[_Column, None] = {}
    for score in scores:
        place = f"{score.data}, {score.task}" if several else score.data
        row = cells.setdefault((strategy(score.mechanism, score.domain), score.curve), {})
        row[score.measure, place] = score
        columns[score.measure, place] = None
    measures = dict.fromkeys(measure for measure, _ in columns)
    ordered = [column for measure in measures for column in columns if column[0] == measure]
    body = []
    for group in sorted({of for of, _ in cells}, key=lambda of: _order(of, words)):
        inside = [(name, row) for (of, name), row in cells.items() if of == group]
        for i, (name, row) in enumerate(inside):
            first = tag("th", group, scope="rowgroup", rowspan=len(inside)) if not i else ""
            shown = (_cell(row.get(column)) for column in ordered)
            body.append(tag("tr", first, tag("th", name, scope="row"), *shown))
    return table(f"QuIPU scores against {attacker}", _heads(ordered), body)


def _cell(score: Score | None) -> Markup:
    if score is None or not math.isfinite(score.score):
        return tag("td", "–")
    value = number(score.score)
    shown = tag("strong", value) if score.best else join(value)
    marks = (" ≈" if score.alike else "") + ("†" if score.points == 1 else "")
    marks += "‡" if score.missing else ""
    small = interval(score.low, score.high, 3) if score.points > 1 else ""
    return tag("td", shown, marks, tag("small", small) if small else "", class_="score")


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
