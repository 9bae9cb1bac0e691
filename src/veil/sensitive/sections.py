"""What is shown and withheld, and what attackers found, for the report of a study."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veil.measures.estimate import Estimate
from veil.sensitive.attacker import Exposure
from veil.sensitive.strategies import STRATEGIES
from veil.studies.report.markup import Markup, interval, number, percent, tag
from veil.studies.report.tables import head, table
from veil.studies.table import PLAIN, Section

_SHOWN = (
    "Shares and counts over all queries; no document is named. Caught: sensitive documents that a"
    " filter withholds. Lost: other documents that it withholds, too. nCS-DCG stands beside the"
    " empty list, which is often hard to beat: a skill below 0 is worse than showing nothing."
    " Documents that nobody judged count as not relevant, so that lists with few judged ones are"
    " understated."
)
_INFERRED = (
    "Exposed: sensitive documents in some list that the attacker was shown. Inferred: of the"
    " others, those that it rightly says exist. False alarms: how often it says so of decoys, that"
    " do not exist. Risk = exposed + (1 − exposed) · max(0, inferred − false alarms), with 95 %"
    " intervals over documents."
)
_COLUMNS = {
    "shown": "shown per query",
    "sensitive": "of them sensitive",
    "any": "queries with any",
    "caught": "caught",
    "lost": "lost",
    "judged": "judged",
}
_PLAIN_COUNTS = ("shown",)  # a number, where the others are shares


@dataclass(eq=False)
class Told:
    """What there is to say of one strategy."""

    shown: Mapping[str, Any] = field(default_factory=dict)
    attacks: dict[str, Exposure] = field(default_factory=dict)


def sections(told: Mapping[str, Told]) -> list[Section]:
    """Return a table of what is shown, and one of what can be inferred."""
    found = []
    lists = [_line(spec, one.shown) for spec, one in told.items() if one.shown]
    if lists:
        names = ("strategy", *_COLUMNS.values(), "nCS-DCG", "empty list", "skill")
        laid = table("What is shown and withheld", [head(*names)], lists)
        hint = tag("p", _SHOWN, class_="hint")
        found.append(Section("withheld", "Shown and withheld", (hint, laid)))
    attacks = [
        _attack(spec, by, exposure)
        for spec, one in told.items()
        for by, exposure in one.attacks.items()
    ]
    if attacks:
        names = ("strategy", "attacker", "exposed", "inferred", "false alarms", "risk")
        laid = table("What a searcher can infer", [head(*names)], attacks)
        hint = tag("p", _INFERRED, class_="hint")
        found.append(Section("inferred", "What can be inferred", (hint, laid)))
    return found


def _title(spec: str) -> Markup:
    named = "relevance alone" if spec == PLAIN else STRATEGIES.parse(spec).brief
    return tag("th", named, scope="row")


def _line(spec: str, shown: Mapping[str, Any]) -> Markup:
    cells = [
        "–" if name not in shown
        else number(shown[name], 1) if name in _PLAIN_COUNTS else percent(shown[name])
        for name in _COLUMNS
    ]  # fmt: skip
    cells += [number(shown[name]) for name in ("worth", "empty")]
    cells.append(number(shown["skill"], 2))
    return tag("tr", _title(spec), *(tag("td", cell) for cell in cells))


def _attack(spec: str, by: str, found: Exposure) -> Markup:
    figures = (found.exposed, found.inferred, found.false_alarms, found.risk)
    return tag("tr", _title(spec), tag("td", by), *map(_cell, figures))


def _cell(value: Estimate) -> Markup:
    return tag("td", number(value), " ", tag("small", interval(value.low, value.high)))
