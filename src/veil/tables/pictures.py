"""Pictures of tables before and after a release.

Pictures in reports show no value and no record. `compare_sizes` and `compare_shares` show values
of the original: they are for the owner of the table, not for release.
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

EDGES = (1, 2, 3, 5, 10, 20, 50, 100)  # smallest class size of each group
SIZES = ("alone", "2", "3–4", "5–9", "10–19", "20–49", "50–99", "100 or more")
MOST = 12  # bins to draw per column; the others are merged
_FIGURES = ("il1s", "direct", "entropy", "contingency", "correlations", "blanked")


@dataclass(frozen=True, eq=False)
class Preview:
    """A preview of a release.

    Attributes
    ----------
    sizes
        Share of the original records in classes of each size (of `SIZES`), without removed ones.
    columns
        By column (2, bins): the share of each bin before and after.
    figures
        k, classes, uniques, removed, and information losses.
    """

    sizes: Floats
    columns: Mapping[str, Floats]
    figures: Mapping[str, float] = field(default_factory=dict)

    def arrays(self) -> dict[str, Floats]:
        """Return the arrays to store in a study."""
        return {"sizes": self.sizes} | {
            f"column {number}": table for number, table in enumerate(self.columns.values())
        }

    def data(self) -> dict[str, Any]:
        """Return the data to store in a study: names of columns, and figures."""
        return {"columns": list(self.columns), "figures": dict(self.figures)}

    @classmethod
    def of(cls, arrays: Mapping[str, Any], data: Mapping[str, Any]) -> "Preview":
        """Return a preview that was stored in a study."""
        columns = {name: arrays[f"column {number}"] for number, name in enumerate(data["columns"])}
        return cls(arrays["sizes"], columns, data["figures"])


def preview(pair: Pair, *, lost: bool = True) -> Preview:
    """Return a preview of a release; `lost` is whether to measure information loss."""
    classes = class_sizes(pair.released, pair.original.qi)
    whole = max(len(pair.original), len(pair.released))
    class_of_row = np.repeat(classes, classes)
    figures = {
        "k": float(classes.min(initial=len(pair.released))),
        "classes": float(len(classes)),
        "uniques": float((classes == 1).sum()),
        "removed": pair.share_removed,
    }
    if lost:
        losses = loss_of(pair, pair.concerned).overall
        figures |= {name: losses[name] for name in _FIGURES if name in losses}
    columns = {name: _folded(pair, name) for name in pair.columns}
    return Preview(by_size(class_of_row) / whole, columns, figures)


def class_sizes(table: Table, qi: tuple[str, ...]) -> Ids:
    """Return the size of each class of rows with equal quasi-identifiers."""
    codes = [table.column(name).codes for name in qi if name in table]
    class_counts: Ids = np.bincount(row_classes(codes, len(table)))
    return class_counts


def by_size(sizes: Ids) -> Floats:
    """Return the number of records by the size of their class: (len(SIZES),)."""
    at = np.searchsorted(EDGES, sizes, side="right") - 1
    return np.bincount(at, minlength=len(SIZES)).astype(np.float64)


def _folded(pair: Pair, name: str) -> Floats:
    bins = pair.bins(name)
    before = np.bincount(bins.codes, minlength=bins.size) / len(bins.codes)
    table = np.stack([before, shares(bins, pair.placed(name), pair.removed)])
    return table[:, _order(bins, before)] if bins.size <= MOST else _most(bins, table)


def _order(bins: Bins, before: Floats) -> Ids:
    """Return numbers by size and categories by share, then missing and new values."""
    order = np.arange(bins.value_bins)
    if not bins.column.numeric:
        order = np.argsort(-before[: bins.value_bins], kind="stable")
    return np.concatenate([order, [bins.gap, bins.outside]])


def _most(bins: Bins, table: Floats) -> Floats:
    order = _order(bins, table[0])
    first, rest = order[: MOST - 1], order[MOST - 1 :]
    if bins.cuts is not None:  # deciles, missing and new values are few
        return table[:, order]
    return np.concatenate([table[:, first], table[:, rest].sum(axis=1, keepdims=True)], axis=1)


CLASSES = (  # smallest risk, colour and label
    (0.5, "#8c1d18", "≥ 50 %"),
    (0.2, "#d9602c", "≥ 20 %"),
    (0.1, "#f0ae5a", "≥ 10 %"),
    (0.05, "#f5dfa5", "≥ 5 %"),
    (0.0, "rule", "below"),
)
ACROSS, DOWN = 40, 16
_SIDE, _BAR_GAP, _HEAD = 8.0, 1.0, 24.0


def risk_map(risks: Floats, says: str) -> Markup:
    """Draw risks (n,), highest first, as squares of equal shares of the records."""
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
    """Draw the share of records by the size of their class."""
    removed = max(0.0, 1 - float(after.sum()))
    rows = bar_pairs(SIZES, before, after)
    if removed > 1e-9:
        rows.append(BarPair("removed", 0.0, removed))
    return draw_pairs(_ALIKE, _unique_text(before, after, NAMES), rows)


_ALIKE = "Records by how many look alike"


def _unique_text(before: Floats, after: Floats | None, names: tuple[str, str]) -> str:
    released = "" if after is None else f", {percent(float(after[0]))} {names[1]}"
    return (
        f"Unique in the columns that an attacker may know: {percent(float(before[0]))} of the"
        f" records {names[0]}{released}."
    )


_COMPARED = ("original", "released")


def compare_sizes(original: Table, released: Table | None = None) -> Markup:
    """Draw the shares of records by the size of their class, for the owner of the table."""
    before = _size_shares(original)
    after = None if released is None else _size_shares(released)
    pairs = bar_pairs(SIZES, before, after)
    return draw_pairs(_ALIKE, _unique_text(before, after, _COMPARED), pairs, _COMPARED)


def _size_shares(table: Table) -> Floats:
    return by_size(np.bincount(table.classes)[table.classes]) / max(1, len(table))


ROWS = 10  # values to draw in separate rows


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
    series = [before[rows], after[rows]]
    for label, places in (
        ("missing", [bins.gap]),
        ("new values", [bins.outside]),
        ("all others", np.setdiff1d(rest, [bins.gap, bins.outside])),
    ):
        extras = [float(column[places].sum()) for column in (before, after)]
        if sum(extras) > 0:
            labels.append(label)
            series = [np.append(row, extra) for row, extra in zip(series, extras, strict=True)]
    says = f"Shares of the values of the column {name} in the original and in the release."
    return draw_pairs(name, says, bar_pairs(labels, series[0], series[1]), _COMPARED)


def _rows(bins: Bins, before: Floats) -> tuple[list[str], Ids]:
    if bins.cuts is not None:
        return _ranges(bins.cuts), np.arange(bins.value_bins)
    order = np.arange(bins.value_bins)
    if bins.value_bins > ROWS or not bins.column.numeric:
        order = np.argsort(-before[: bins.value_bins], kind="stable")[:ROWS]
    if bins.column.numeric:
        order = np.sort(order)
    return [bins.column.categories[place] for place in order.tolist()], order


def _ranges(cuts: Floats) -> list[str]:
    texts = [_short_number(cut) for cut in cuts.tolist()]
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *middle, f"{texts[-1]} and more"]


def _short_number(number: float) -> str:
    return format_number(float(f"{number:.4g}"))


BOUND, HIGH = 0.05, 0.2  # acceptable mean risk; risk above which records are counted
_HINT = (
    "What publishing changes, for a few configurations. Left: how many records share the known"
    " values ({known}). Right: the risk of every record under the strongest attack, sorted from"
    " the"
    " highest; a square is {share} of the records. The report shows no values and no records, but"
    " it is based on the original table: keep it to yourself."
)
_GLANCE = (
    "A mean hides the one person who is unique. So the table also shows the worst record, and how"
    " many records have a risk above 20 %. k is the size of the smallest class."
)


@dataclass(eq=False)
class Shown:
    """Data to show for one configuration: risks (n,) by attacker, highest first."""

    spec: str
    glance: Preview | None = None
    risks: dict[str, Floats] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The mechanism without its default parameters, unless all are default."""
        if self.spec == PLAIN:
            return "no protection"
        short = MECHANISMS.parse(self.spec).brief
        return short if "(" in short else self.spec

    @property
    def strongest(self) -> str:
        """The attacker with the highest mean risk."""
        return max(self.risks, key=lambda by: float(self.risks[by].mean()))

    @property
    def risk(self) -> float:
        """The highest mean risk."""
        return float(self.risks[self.strongest].mean())


def picture_sections(table: Table, shown: Mapping[str, Shown], results: Results) -> list[Section]:
    """Return a section with pictures of a few configurations, and one with a row for each."""
    complete = {
        spec: view for spec, view in shown.items() if view.glance is not None and view.risks
    }
    unprotected = complete.pop(PLAIN, None)
    if unprotected is None or not complete:
        return []
    utilities = {row.spec: row.score for row in filter(is_utility, results.rows)}
    qi = ", ".join(table.qi)
    parts: list[Markup] = [tag("p", _HINT.format(known=qi, share=percent(1 / 640)), class_="hint")]
    for spec, why in choose_pictures(complete, utilities):
        parts += _panels(unprotected, complete[spec], why, len(table))
    lines = _lines(unprotected, list(complete.values()), utilities)
    return [
        Section("before-after", "Before and after", tuple(parts), private=True),
        Section("glance", "Average and worst", (tag("p", _GLANCE, class_="hint"), lines)),
    ]


def choose_pictures(
    shown: Mapping[str, Shown], utilities: Mapping[str, float]
) -> list[tuple[str, str]]:
    """Return the configurations to draw, and why: the best of low risk, and both extremes."""
    measured = [spec for spec in shown if spec in utilities]
    if not measured:
        return []
    low = [spec for spec in measured if shown[spec].risk <= BOUND]
    ranked = [
        (max(low, key=lambda spec: utilities[spec]), "the most useful with a risk of at most 5 %")
        if low
        else None,
        (min(measured, key=lambda spec: (shown[spec].risk, -utilities[spec])), "the lowest risk"),
        (max(measured, key=lambda spec: utilities[spec]), "the most useful"),
    ]
    reasons: dict[str, str] = {}
    for pair in filter(None, ranked):
        reasons.setdefault(*pair)
    return list(reasons.items())


def _panels(unprotected: Shown, view: Shown, why: str, n: int) -> list[Markup]:
    assert unprotected.glance is not None and view.glance is not None  # noqa: S101, PT018 - as chosen
    by = view.strongest
    before = unprotected.risks.get(by, unprotected.risks[unprotected.strongest])
    classes = page.figure(
        [
            tag("strong", "Class sizes"),
            tag("br"),
            _size_caption(unprotected.glance, view.glance, n),
        ],
        draw_sizes(unprotected.glance.sizes, view.glance.sizes),
    )
    return [
        tag("h3", view.title),
        tag("p", f"Shown because it is {why}; the strongest attacker is {by}."),
        tag(
            "div",
            classes,
            _map("Risk before", before, unprotected.worst.get(by, 1.0)),
            _map("Risk after", view.risks[by], view.worst[by]),
            class_="panels",
        ),
        tag(
            "details",
            tag("summary", "Shares of each column, before and after"),
            tag("p", "Bars are bins: categories by their share, numbers by size; the smallest are"
                " merged. Their values are not shown.", class_="hint"),
            tag("figure", draw_histograms(view.glance.columns)),
        ),
    ]  # fmt: skip


def _map(title: str, risks: Floats, worst: float) -> Markup:
    caption_text = _risk_caption(risks, worst)
    caption = [tag("strong", title), tag("br"), caption_text]
    return page.figure(caption, risk_map(risks, f"{title}: {caption_text}"))


def _risk_caption(risks: Floats, worst: float) -> str:
    high = float((risks > HIGH).mean())
    return (
        f"mean {percent(float(risks.mean()))}, worst record {percent(worst)}; above 20 %:"
        f" {percent(high)} of the records"
    )


def _size_caption(before: Preview, after: Preview, n: int) -> str:
    gone = after.figures["removed"]
    removed = f"; {percent(gone)} of the rows are removed" if gone else ""
    return (
        f"unique: {int(before.figures['uniques']):,} of {n:,} before,"
        f" {int(after.figures['uniques']):,} after; k {int(before.figures['k']):,} before,"
        f" {int(after.figures['k']):,} after{removed}"
    )


def _lines(unprotected: Shown, others: Sequence[Shown], utilities: Mapping[str, float]) -> Markup:
    body = []
    for view in (unprotected, *others):
        assert view.glance is not None  # noqa: S101 - only those are handed in
        by, figures = view.strongest, view.glance.figures
        body.append(
            page.row(
                view.title,
                by,
                percent(view.risk),
                percent(view.worst[by]),
                percent(float(np.mean(view.risks[by] > HIGH))),
                f"{int(figures['k']):,}",
                f"{int(figures['uniques']):,}",
                percent(figures["removed"]),
                number(utilities.get(view.spec, 1.0), 2),
            )
        )
    names = ("strongest attacker", "average risk", "worst record", "above 20 %", "k", "alone")
    heads = page.head("configuration", *names, "rows removed", "information kept")
    return page.table("Risk of records by configuration", [heads], body)
