"""Draw tables before and after a release.

Pictures in reports show no value and no record. `compare_sizes` and `compare_shares` show values
of the original: they are for the owner of the table, and not for release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from veil.core.types import Floats, Ids
from veil.drawing import page
from veil.drawing.bars import NAMES, BarPair, bar_pairs, draw_histograms, draw_pairs
from veil.drawing.markup import Markup, number, percent, tag
from veil.drawing.svg import box, key, picture
from veil.studies.panels import is_utility
from veil.studies.results import PLAIN, Results, Section
from veil.tables.column import format_number
from veil.tables.measures.loss import loss_of
from veil.tables.measures.pair import Bins, Pair, shares
from veil.tables.mechanisms import MECHANISMS
from veil.tables.table import Table, row_classes

EDGES = (1, 2, 3, 5, 10, 20, 50, 100)  # least sizes of classes that are shown together
SIZES = ("alone", "2", "3–4", "5–9", "10–19", "20–49", "50–99", "100 or more")
MOST = 12  # bins of a column that are drawn; the others are together
_TOLD = ("il1s", "direct", "entropy", "contingency", "correlations", "blanked")


@dataclass(frozen=True, eq=False)
class Preview:
    """A release at a glance.

    Attributes
    ----------
    sizes
        The share of the original records that are in classes of each size (of `SIZES`); what is
        removed is in none.
    columns
        By column (2, bins): the share of each bin before and after.
    figures
        k, classes, uniques, removed, and what was lost.
    """

    sizes: Floats
    columns: Mapping[str, Floats]
    figures: Mapping[str, float] = field(default_factory=dict)

    def arrays(self) -> dict[str, Floats]:
        """Return what is kept of it in a study."""
        return {"sizes": self.sizes} | {
            f"column {number}": table for number, table in enumerate(self.columns.values())
        }

    def data(self) -> dict[str, Any]:
        """Return what else is kept of it: names of columns, and figures."""
        return {"columns": list(self.columns), "figures": dict(self.figures)}

    @classmethod
    def of(cls, arrays: Mapping[str, Any], data: Mapping[str, Any]) -> "Preview":
        """Return one that was kept."""
        columns = {name: arrays[f"column {number}"] for number, name in enumerate(data["columns"])}
        return cls(arrays["sizes"], columns, data["figures"])


def preview(pair: Pair, *, lost: bool = True) -> Preview:
    """Look at a release; `lost` says whether to measure what it lost."""
    classes = class_sizes(pair.released, pair.original.qi)
    whole = max(len(pair.original), len(pair.released))
    each = np.repeat(classes, classes)
    figures = {
        "k": float(classes.min(initial=len(pair.released))),
        "classes": float(len(classes)),
        "uniques": float((classes == 1).sum()),
        "removed": pair.share_removed,
    }
    if lost:
        found = loss_of(pair, pair.concerned).overall
        figures |= {name: found[name] for name in _TOLD if name in found}
    columns = {name: _folded(pair, name) for name in pair.columns}
    return Preview(by_size(each) / whole, columns, figures)


def class_sizes(table: Table, qi: tuple[str, ...]) -> Ids:
    """Return the size of each class of rows that are alike in what an attacker knows."""
    known = [table.column(name).codes for name in qi if name in table]
    found: Ids = np.bincount(row_classes(known, len(table)))
    return found


def by_size(sizes: Ids) -> Floats:
    """Count records by the size of their class: (len(SIZES),)."""
    at = np.searchsorted(EDGES, sizes, side="right") - 1
    return np.bincount(at, minlength=len(SIZES)).astype(np.float64)


def _folded(pair: Pair, name: str) -> Floats:
    """Return the shares of the bins of a column before and after, the smallest ones together."""
    bins = pair.bins(name)
    before = np.bincount(bins.codes, minlength=bins.size) / len(bins.codes)
    both = np.stack([before, shares(bins, pair.placed(name), pair.removed)])
    return both[:, _order(bins, before)] if bins.size <= MOST else _most(bins, both)


def _order(bins: Bins, before: Floats) -> Ids:
    """Return numbers by size and categories by share; what is missing or new at the end."""
    named = np.arange(bins.named)
    if not bins.column.numeric:
        named = np.argsort(-before[: bins.named], kind="stable")
    return np.concatenate([named, [bins.gap, bins.outside]])


def _most(bins: Bins, both: Floats) -> Floats:
    order = _order(bins, both[0])
    first, rest = order[: MOST - 1], order[MOST - 1 :]
    if bins.cuts is not None:  # deciles, what is missing and what is new are few
        return both[:, order]
    return np.concatenate([both[:, first], both[:, rest].sum(axis=1, keepdims=True)], axis=1)


CLASSES = (  # least risk, its colour and its label
    (0.5, "#8c1d18", "≥ 50 %"),
    (0.2, "#d9602c", "≥ 20 %"),
    (0.1, "#f0ae5a", "≥ 10 %"),
    (0.05, "#f5dfa5", "≥ 5 %"),
    (0.0, "rule", "below"),
)
ACROSS, DOWN = 40, 16
_SIDE, _BAR_GAP, _HEAD = 8.0, 1.0, 24.0


def risk_map(risks: Floats, says: str) -> Markup:
    """Draw risks (n,), highest first, as squares for equal shares of the records."""
    cells = squares(risks)
    step = _SIDE + _BAR_GAP
    parts = key(0, 12, [(colour, label) for _, colour, label in CLASSES])
    for place, risk in enumerate(cells.tolist()):
        x, y = place // DOWN * step, _HEAD + place % DOWN * step
        parts.append(box(x, y, _SIDE, _SIDE, colour_of(risk)))
    height = _HEAD + DOWN * step
    title = "Risk of all records, sorted"
    return picture(ACROSS * step, height, title, says, *parts, wide="100%")


def squares(risks: Floats) -> Floats:
    """Return the highest risk within each of the squares, highest first."""
    ordered = np.sort(risks)[::-1]
    starts = np.floor(np.arange(ACROSS * DOWN) * len(ordered) / (ACROSS * DOWN)).astype(np.int64)
    return ordered[np.minimum(starts, len(ordered) - 1)]


def colour_of(risk: float) -> str:
    """Return the colour of a risk."""
    return next(colour for least, colour, _ in CLASSES if risk >= least)


def draw_sizes(before: Floats, after: Floats) -> Markup:
    """Draw the share of records by the number of records that look like them."""
    removed = max(0.0, 1 - float(after.sum()))
    rows = bar_pairs(SIZES, before, after)
    if removed > 1e-9:
        rows.append(BarPair("removed", 0.0, removed))
    return draw_pairs(_ALIKE, _alone(before, after, NAMES), rows)


_ALIKE = "Records by how many look alike"


def _alone(before: Floats, after: Floats | None, names: tuple[str, str]) -> str:
    released = "" if after is None else f", {percent(float(after[0]))} {names[1]}"
    return (
        f"Alone with what an attacker may know: {percent(float(before[0]))} of the records"
        f" {names[0]}{released}."
    )


_COMPARED = ("original", "released")


def compare_sizes(original: Table, released: Table | None = None) -> Markup:
    """Draw the shares of records by the size of their class, for the owner of the table."""
    before = _size_shares(original)
    after = None if released is None else _size_shares(released)
    pairs = bar_pairs(SIZES, before, after)
    return draw_pairs(_ALIKE, _alone(before, after, _COMPARED), pairs, _COMPARED)


def _size_shares(table: Table) -> Floats:
    return by_size(np.bincount(table.classes)[table.classes]) / max(1, len(table))


ROWS = 10  # values that have a row of their own


def compare_shares(pair: Pair, name: str) -> Markup:
    """Draw the shares of a column's values before and after, for the owner of the table.

    More than ten numbers are cut at their deciles. A released label, such as an interval, is
    spread evenly over the values that it covers.
    """
    bins = pair.bins(name)
    before = np.bincount(bins.codes, minlength=bins.size) / max(1, len(bins.codes))
    after = shares(bins, pair.placed(name), pair.removed)
    labels, rows = _rows(bins, before)
    rest = np.setdiff1d(np.arange(bins.size), rows)
    kept = [before[rows], after[rows]]
    for label, places in (
        ("missing", [bins.gap]),
        ("new values", [bins.outside]),
        ("all others", np.setdiff1d(rest, [bins.gap, bins.outside])),
    ):
        extras = [float(column[places].sum()) for column in (before, after)]
        if sum(extras) > 0:
            labels.append(label)
            kept = [np.append(row, extra) for row, extra in zip(kept, extras, strict=True)]
    says = f"Shares of the values of the column {name} in the original and in the release."
    return draw_pairs(name, says, bar_pairs(labels, kept[0], kept[1]), _COMPARED)


def _rows(bins: Bins, before: Floats) -> tuple[list[str], Ids]:
    """Return the labels of the rows and their bins."""
    if bins.cuts is not None:
        return _ranges(bins.cuts), np.arange(bins.named)
    order = np.arange(bins.named)
    if bins.named > ROWS or not bins.column.numeric:
        order = np.argsort(-before[: bins.named], kind="stable")[:ROWS]
    if bins.column.numeric:
        order = np.sort(order)
    return [bins.column.categories[place] for place in order.tolist()], order


def _ranges(cuts: Floats) -> list[str]:
    texts = [_short_number(cut) for cut in cuts.tolist()]
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *middle, f"{texts[-1]} and more"]


def _short_number(number: float) -> str:
    return format_number(float(f"{number:.4g}"))


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
    glance: Preview | None = None
    risks: dict[str, Floats] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The method without the parameters that have their default, unless all have it."""
        if self.spec == PLAIN:
            return "no protection"
        short = MECHANISMS.parse(self.spec).brief
        return short if "(" in short else self.spec

    @property
    def strongest(self) -> str:
        """The attacker of the highest average risk."""
        return max(self.risks, key=lambda by: float(self.risks[by].mean()))

    @property
    def risk(self) -> float:
        """The highest average risk."""
        return float(self.risks[self.strongest].mean())


def picture_sections(table: Table, shown: Mapping[str, Shown], results: Results) -> list[Section]:
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
    for spec, why in choose_pictures(complete, utilities):
        parts += _drawn(plain, complete[spec], why, len(table))
    lines = _lines(plain, list(complete.values()), utilities)
    return [
        Section("before-after", "Before and after", tuple(parts), private=True),
        Section("glance", "Average and worst", (tag("p", _GLANCE, class_="hint"), lines)),
    ]


def choose_pictures(
    shown: Mapping[str, Shown], utilities: Mapping[str, float]
) -> list[tuple[str, str]]:
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
    classes = page.figure(
        [tag("strong", "How many look alike"), tag("br"), _told(plain.glance, one.glance, n)],
        draw_sizes(plain.glance.sizes, one.glance.sizes),
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
            tag("figure", draw_histograms(one.glance.columns)),
        ),
    ]  # fmt: skip


def _map(title: str, risks: Floats, worst: float) -> Markup:
    told = _risk_told(risks, worst)
    caption = [tag("strong", title), tag("br"), told]
    return page.figure(caption, risk_map(risks, f"{title}: {told}"))


def _risk_told(risks: Floats, worst: float) -> str:
    high = float((risks > HIGH).mean())
    return (
        f"average {percent(float(risks.mean()))}, worst record {percent(worst)}; above 20 %:"
        f" {percent(high)} of the records"
    )


def _told(before: Preview, after: Preview, n: int) -> str:
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
            page.row(
                one.title,
                by,
                percent(one.risk),
                percent(one.worst[by]),
                percent(float(np.mean(one.risks[by] > HIGH))),
                f"{int(told['k']):,}",
                f"{int(told['uniques']):,}",
                percent(told["removed"]),
                number(utilities.get(one.spec, 1.0), 2),
            )
        )
    names = ("strongest attacker", "average risk", "worst record", "above 20 %", "k", "alone")
    heads = page.head("configuration", *names, "rows removed", "information kept")
    return page.table("Risk of records by configuration", [heads], body)
