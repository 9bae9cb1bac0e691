"""The table before and after, for the report of a study."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from veil.core.types import Floats
from veil.studies.plane import is_utility
from veil.studies.report.markup import Markup, number, percent, tag
from veil.studies.report.tables import head
from veil.studies.report.tables import table as laid_out
from veil.studies.table import PLAIN, Results, Section
from veil.tables.glance import Glance
from veil.tables.methods import METHODS
from veil.tables.pictures.columns import columns
from veil.tables.pictures.risks import risk_map
from veil.tables.pictures.sheet import figure
from veil.tables.pictures.sizes import sizes
from veil.tables.table import Table

BOUND, HIGH = 0.05, 0.2  # a risk that is looked for; a risk of a record that is counted
_HINT = (
    "What publishing changes, for a few configurations. Left: how many records look like each"
    " other to somebody who knows {known}. Right: the risk of every record against the strongest"
    " attacker, sorted from the highest; a square stands for {share} of the records. No value and"
    " no record is shown, but all was made with the true table: keep this report to yourself."
)
_GLANCE = (
    "An average hides the one person who is unique: beside it are the worst record, and how many"
    " records have a risk above 20 %. k is the size of the smallest group that looks alike."
)


@dataclass(eq=False)
class Shown:
    """What there is to show of one configuration: risks (n,) by attacker, highest first."""

    spec: str
    glance: Glance | None = None
    risks: dict[str, Floats] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The method without the parameters that have their default, unless all have it."""
        if self.spec == PLAIN:
            return "no protection"
        short = METHODS.parse(self.spec).brief
        return short if "(" in short else self.spec

    @property
    def strongest(self) -> str:
        """The attacker of the highest average risk."""
        return max(self.risks, key=lambda by: float(self.risks[by].mean()))

    @property
    def risk(self) -> float:
        """The highest average risk."""
        return float(self.risks[self.strongest].mean())


def pictured(table: Table, shown: Mapping[str, Shown], results: Results) -> list[Section]:
    """Return a section with pictures of a few configurations, and one with a line of each."""
    complete = {spec: one for spec, one in shown.items() if one.glance is not None and one.risks}
    plain = complete.pop(PLAIN, None)
    if plain is None or not complete:
        return []
    utilities = {row.spec: row.score for row in filter(is_utility, results.rows)}
    known = ", ".join(table.qi)
    parts: list[Markup] = [
        tag("p", _HINT.format(known=known, share=percent(1 / 640)), class_="hint")
    ]
    for spec, why in chosen(complete, utilities):
        parts += _drawn(plain, complete[spec], why, len(table))
    lines = _lines(plain, list(complete.values()), utilities)
    return [
        Section("before-after", "Before and after", tuple(parts), private=True),
        Section("glance", "Average and worst", (tag("p", _GLANCE, class_="hint"), lines)),
    ]


def chosen(shown: Mapping[str, Shown], utilities: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return which configurations are drawn, and why: the best of low risk, and both ends."""
    known = [spec for spec in shown if spec in utilities]
    if not known:
        return []
    low = [spec for spec in known if shown[spec].risk <= BOUND]
    ranked = [
        (max(low, key=lambda spec: utilities[spec]), "the most useful with a risk of at most 5 %")
        if low
        else None,
        (min(known, key=lambda spec: (shown[spec].risk, -utilities[spec])), "the lowest risk"),
        (max(known, key=lambda spec: utilities[spec]), "the most useful"),
    ]
    made: dict[str, str] = {}
    for pair in filter(None, ranked):
        made.setdefault(*pair)
    return list(made.items())


def _drawn(plain: Shown, one: Shown, why: str, n: int) -> list[Markup]:
    assert plain.glance is not None and one.glance is not None  # noqa: S101, PT018 - as chosen
    by = one.strongest
    before = plain.risks.get(by, plain.risks[plain.strongest])
    classes = figure(
        [tag("strong", "How many look alike"), tag("br"), _told(plain.glance, one.glance, n)],
        sizes(plain.glance.sizes, one.glance.sizes),
    )
    return [
        tag("h3", one.title),
        tag("p", f"Drawn as {why}; the strongest attacker is {by}."),
        tag(
            "div",
            classes,
            _map("Risk before", before, plain.worst.get(by, 1.0)),
            _map("Risk after", one.risks[by], one.worst[by]),
            class_="panels",
        ),
        tag(
            "details",
            tag("summary", "Shares of each column, before and after"),
            tag("p", "Bars are bins: categories by their share, numbers by size; the smallest are"
                " together. What they stand for is not shown.", class_="hint"),
            tag("figure", columns(one.glance.columns)),
        ),
    ]  # fmt: skip


def _map(title: str, risks: Floats, worst: float) -> Markup:
    told = _risk_told(risks, worst)
    return figure([tag("strong", title), tag("br"), told], risk_map(risks, f"{title}: {told}"))


def _risk_told(risks: Floats, worst: float) -> str:
    high = float((risks > HIGH).mean())
    return (
        f"average {percent(float(risks.mean()))}, worst record {percent(worst)}; above 20 %:"
        f" {percent(high)} of the records"
    )


def _told(before: Glance, after: Glance, n: int) -> str:
    gone = after.figures["removed"]
    removed = f"; {percent(gone)} of the rows are not in it" if gone else ""
    return (
        f"alone: {int(before.figures['uniques']):,} of {n:,} before,"
        f" {int(after.figures['uniques']):,} after; k {int(before.figures['k']):,} before,"
        f" {int(after.figures['k']):,} after{removed}"
    )


def _lines(plain: Shown, others: Sequence[Shown], utilities: Mapping[str, float]) -> Markup:
    """Return a table with a line of each configuration."""
    body = []
    for one in (plain, *others):
        assert one.glance is not None  # noqa: S101 - only those are handed in
        by, told = one.strongest, one.glance.figures
        body.append(
            tag(
                "tr",
                tag("th", one.title, scope="row"),
                tag("td", by),
                tag("td", percent(one.risk)),
                tag("td", percent(one.worst[by])),
                tag("td", percent(float(np.mean(one.risks[by] > HIGH)))),
                tag("td", f"{int(told['k']):,}"),
                tag("td", f"{int(told['uniques']):,}"),
                tag("td", percent(told["removed"])),
                tag("td", number(utilities.get(one.spec, 1.0), 2)),
            )
        )
    heads = [
        head("configuration", "strongest attacker", "average risk", "worst record", "above 20 %",
             "k", "alone", "rows removed", "information kept")
    ]  # fmt: skip
    return laid_out("Risk of records by configuration", heads, body)
