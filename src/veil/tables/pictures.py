"""Drawings of tables before and after a release; none shows a value or a record."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.data.files import require_folder, whole_file
from veil.measures.plane import NOTHING, UNATTACKED, Plane, PlanePoint
from veil.studies.panels import is_utility
from veil.studies.report.markup import Markup, interval, join, number, page, percent, tag
from veil.studies.report.svg import at
from veil.studies.report.tables import head
from veil.studies.report.tables import table as laid_out
from veil.studies.results import PLAIN, Results, Section
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


INK, SOFT, PALE, RULE = "#1b1b1b", "#5c6670", "#c3ccd6", "#d9dee3"
BEFORE, AFTER = "#aab4bf", "#1d5c8f"
_FONT = "system-ui, sans-serif"


def words(
    x: float, y: float, text: str, size: float = 11, anchor: str = "start", fill: str = INK
) -> Markup:
    """Write words into a drawing."""
    return tag(
        "text", text, x=at(x), y=at(y), font_family=_FONT, font_size=f"{size:g}", fill=fill,
        text_anchor=anchor,
    )  # fmt: skip


def box(x: float, y: float, width: float, height: float, fill: str, says: str = "") -> Markup:
    """Draw a rectangle; `says` is read on pointing at it."""
    drawn = tag("rect", x=at(x), y=at(y), width=at(max(0.0, width)), height=at(max(0.0, height)),
                fill=fill)  # fmt: skip
    return tag("g", drawn, tag("title", says)) if says else drawn


def picture(
    width: float, height: float, title: str, says: str, *parts: Markup, wide: str = "100%"
) -> Markup:
    """Return a whole drawing, with its title and description for those who cannot see it."""
    return tag(
        "svg", tag("title", title), tag("desc", says),
        tag("rect", width=at(width), height=at(height), fill="#ffffff"), *parts, class_="map",
        xmlns="http://www.w3.org/2000/svg", role="img", viewBox=f"0 0 {at(width)} {at(height)}",
        width=wide,
    )  # fmt: skip


def figure(caption: Sequence[str], drawn: Markup) -> Markup:
    """Put a caption above a drawing."""
    return tag("figure", tag("figcaption", *caption), drawn, class_="panel")


def key(x: float, y: float, entries: Sequence[tuple[str, str]]) -> list[Markup]:
    """Return what colours mean, side by side."""
    parts = []
    for colour, text in entries:
        parts += [box(x, y - 8, 10, 10, colour), words(x + 14, y + 1, text, 10, fill=SOFT)]
        x += 26 + 5.6 * len(text)
    return parts


_WIDTH, _HIGH, _TOP, _FOOT = 200.0, 70.0, 24.0, 6.0
_ACROSS, _GAP = 5, 14.0


def columns(shares: Mapping[str, Floats]) -> Markup:
    """Draw a small chart for each column: a pair of bars for each bin."""
    rows = -(-len(shares) // _ACROSS)
    step = _TOP + _HIGH + _FOOT
    across = min(_ACROSS, len(shares))
    width = across * (_WIDTH + _GAP) - _GAP
    parts = key(0, 12, [(BEFORE, "before"), (AFTER, "after")])
    for place, (name, both) in enumerate(shares.items()):
        x, y = place % _ACROSS * (_WIDTH + _GAP), 20 + place // _ACROSS * step
        parts += _chart(x, y, name, both)
    says = "; ".join(f"{name}: {percent(_moved(both))} moved" for name, both in shares.items())
    return picture(
        width, 20 + rows * step, "Shares before and after", f"{says}.", *parts, wide=at(width)
    )


def _moved(both: Floats) -> float:
    return 0.5 * float(np.abs(both[0] - both[1]).sum())


def _chart(x: float, y: float, name: str, both: Floats) -> list[Markup]:
    shown = both[:, both.sum(axis=0) > 0]
    base, count = y + _TOP + _HIGH, max(1, shown.shape[1])
    scale = _HIGH / max(1e-9, float(shown.max(initial=0.0)))
    wide = min(18.0, _WIDTH / count)
    told = name if len(name) <= 22 else f"{name[:21]}…"
    parts = [
        words(x, y + 14, told, 11),
        words(x + _WIDTH, y + 14, f"{percent(_moved(both))} moved", 10, "end", SOFT),
        tag("path", d=f"M{at(x)} {at(base)}h{at(_WIDTH)}", stroke=RULE),
    ]
    for place, (one, two) in enumerate(shown.T.tolist()):
        left = x + place * wide
        says = f"bin {place + 1}: {percent(one)} before, {percent(two)} after"
        parts.append(box(left, base - one * scale, wide * 0.44, one * scale, BEFORE, says))
        parts.append(
            box(left + wide * 0.46, base - two * scale, wide * 0.44, two * scale, AFTER, says)
        )
    return parts


CLASSES = (  # least risk, its colour, and how it is told
    (0.5, "#8c1d18", "≥ 50 %"),
    (0.2, "#d9602c", "≥ 20 %"),
    (0.1, "#f0ae5a", "≥ 10 %"),
    (0.05, "#f5dfa5", "≥ 5 %"),
    (0.0, "#dfe7ee", "below"),
)
ACROSS, DOWN = 40, 16
_SIDE, _BAR_GAP, _HEAD = 8.0, 1.0, 24.0


def risk_map(risks: Floats, says: str) -> Markup:
    """Draw risks (n,), highest first, as squares that stand for equal shares of the records."""
    cells = squares(risks)
    step = _SIDE + _BAR_GAP
    parts = key(0, 12, [(colour, told) for _, colour, told in CLASSES])
    for place, risk in enumerate(cells.tolist()):
        x, y = place // DOWN * step, _HEAD + place % DOWN * step
        parts.append(box(x, y, _SIDE, _SIDE, colour_of(risk)))
    return picture(ACROSS * step, _HEAD + DOWN * step, "Risk of all records, sorted", says, *parts)


def squares(risks: Floats) -> Floats:
    """Return the highest risk within each of the squares, highest first."""
    ordered = np.sort(risks)[::-1]
    starts = np.floor(np.arange(ACROSS * DOWN) * len(ordered) / (ACROSS * DOWN)).astype(np.int64)
    return ordered[np.minimum(starts, len(ordered) - 1)]


def colour_of(risk: float) -> str:
    """Return the colour of a risk."""
    return next(colour for least, colour, _ in CLASSES if risk >= least)


_SIZES_WIDTH, _LEFT, _ROW, _SIZES_TOP, _RIGHT = 340.0, 84.0, 28.0, 30.0, 46.0


def sizes(before: Floats, after: Floats) -> Markup:
    """Draw the share of records by the number of those that look like them."""
    removed = max(0.0, 1 - float(after.sum()))
    rows = [(name, one, two) for name, one, two in zip(SIZES, before, after, strict=True)]
    if removed > 1e-9:
        rows.append(("removed", 0.0, removed))
    height = _SIZES_TOP + len(rows) * _ROW + 8
    parts = key(_LEFT, 14, [(BEFORE, "before"), (AFTER, "after")])
    parts.append(tag("path", d=f"M{at(_LEFT)} {at(_SIZES_TOP - 4)}V{at(height - 4)}", stroke=RULE))
    reach = _SIZES_WIDTH - _LEFT - _RIGHT
    for place, (name, one, two) in enumerate(rows):
        y = _SIZES_TOP + place * _ROW
        parts.append(words(_LEFT - 6, y + 15, name, 11, "end"))
        for at_y, share, colour, when in (
            (y, one, BEFORE, "before"),
            (y + 11, two, AFTER, "after"),
        ):
            told = f"{name}, {when}: {percent(float(share))}"
            parts.append(box(_LEFT, at_y, reach * float(share), 10, colour, told))
            if share > 0:
                x = _LEFT + reach * float(share) + 4
                parts.append(words(x, at_y + 9, percent(float(share)), 9, fill=SOFT))
    says = (
        f"Before, {percent(float(before[0]))} of the records are alone; after,"
        f" {percent(float(after[0]))}."
    )
    return picture(_SIZES_WIDTH, height, "Records by how many look alike", says, *parts)


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


_PLANE_SIDE, _PLANE_LEFT, _PLANE_TOP, _PLANE_FOOT, _PLANE_RIGHT = 360.0, 52.0, 14.0, 46.0, 110.0
_HOW = (
    "Further right, attackers succeed more often; further up, releases stay more useful. The best"
    " place is at the top left. Above the dashed line, a release keeps more than it gives away."
)


def write_plane(plane: Plane, path: Path) -> None:
    """Write the page, whole or not at all."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError("A plane is drawn as a page; name a file that ends in .html.")
    require_folder(path)
    title = f"{plane.name}: risk against {plane.attacker}, and utility by {plane.utility}"
    best = max(plane.rows, key=lambda row: float(row.utility) - float(row.risk))
    start = "The mechanism"
    if plane.plain is not UNATTACKED:
        share = percent(float(plane.plain.risk))
        start = f"Published as it is, {share} of the {plane.subjects} are found; the mechanism"
    ends = " that keeps most beyond what it gives away is ", tag("strong", best.spec), "."
    summary = [join(start, *ends)]
    sections = [
        Section("plane", "Risk and utility", (tag("p", _HOW, class_="hint"), draw_plane(plane))),
        Section("figures", "Figures", (figures(plane), scores(plane))),
    ]
    with whole_file(path, private=True) as part:
        part.write_text(page(title, summary, sections), encoding="utf-8")


def draw_plane(plane: Plane) -> Markup:
    """Draw the methods, and the table itself."""
    diagonal = f"M{at(_x(0))} {at(_y(0))}L{at(_x(1))} {at(_y(1))}"
    parts = [
        tag(
            "rect",
            x=at(_PLANE_LEFT),
            y=at(_PLANE_TOP),
            width=at(_PLANE_SIDE),
            height=at(_PLANE_SIDE),
            fill="#fdfdfb",
            stroke=RULE,
        ),
        tag("path", d=diagonal, fill="none", stroke=SOFT, stroke_dasharray="4 3"),
    ]
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(
            words(_x(value), _PLANE_TOP + _PLANE_SIDE + 16, f"{value:g}", 10, "middle", SOFT)
        )
        parts.append(words(_PLANE_LEFT - 6, _y(value) + 3, f"{value:g}", 10, "end", SOFT))
    parts.append(
        words(_PLANE_LEFT + _PLANE_SIDE / 2, _PLANE_TOP + _PLANE_SIDE + 36, "risk →", 12, "middle")
    )
    turned = f"translate(14 {at(_PLANE_TOP + _PLANE_SIDE / 2)}) rotate(-90)"
    parts.append(tag("g", words(0, 0, "utility →", 12, "middle"), transform=turned))
    parts += [_spot(row, AFTER) for row in plane.rows]
    if plane.plain is not UNATTACKED:
        parts.append(_spot(plane.plain, "#c4431a"))
    told = "; ".join(
        f"{row.spec}: risk {row.risk:.3f}, utility {row.utility:.3f}" for row in plane
    )
    svg = picture(
        _PLANE_LEFT + _PLANE_SIDE + _PLANE_RIGHT,
        _PLANE_TOP + _PLANE_SIDE + _PLANE_FOOT,
        "Risk and utility",
        told,
        *parts,
    )
    return tag("div", tag("figure", svg, class_="panel"), class_="panels")


def _spot(row: PlanePoint, colour: str) -> Markup:
    x, y = _x(float(row.risk)), _y(float(row.utility))
    bars = f"M{at(_x(row.risk.low))} {at(y)}H{at(_x(row.risk.high))}"
    bars += f"M{at(x)} {at(_y(row.utility.low))}V{at(_y(row.utility.high))}"
    says = f"{row.spec}: risk {row.risk:.3f}, utility {row.utility:.3f}"
    short = row.spec if len(row.spec) <= 28 else f"{row.spec[:27]}…"
    return tag(
        "g",
        tag("path", d=bars, stroke=colour, fill="none", opacity="0.6"),
        tag("circle", cx=at(x), cy=at(y), r="4.5", fill=colour),
        words(x + 8, y + 4, short, 10, fill=colour),
        tag("title", says),
    )


def figures(plane: Plane) -> Markup:
    """Return a table with a line of each method."""
    body = [
        tag(
            "tr",
            tag("th", row.spec, scope="row"),
            tag("td", number(row.risk), " ", tag("small", interval(row.risk.low, row.risk.high))),
            tag("td", number(row.worst) if math.isfinite(row.worst) else "–"),
            tag("td", number(row.utility), " ", tag("small", _spread(row))),
            tag("td", percent(row.removed)),
            tag("td", row.guarantee),
        )
        for row in (*([] if plane.plain is UNATTACKED else [plane.plain]), *plane.rows)
    ]
    heads = [head("mechanism", "risk", "worst case", "utility", "rows removed", "proved")]
    return laid_out("Risk and utility, with 95 % intervals", heads, body)


def scores(plane: Plane) -> Markup:
    """Return the QuIPU scores of curves of more than one point."""
    body = [
        tag("tr", tag("th", name, scope="row"), tag("td", number(score)))
        for name, score in {**plane.scores, "all of them": plane.quipu}.items()
    ]
    return laid_out("QuIPU scores: 1 is best, and that of a single point is 0",
                 [head("curve", "score")], body)  # fmt: skip


def _spread(row: PlanePoint) -> str:
    same = math.isclose(row.utility.low, row.utility.high)
    return "" if same or row.spec == NOTHING else interval(row.utility.low, row.utility.high)


def _x(risk: float) -> float:
    return _PLANE_LEFT + _PLANE_SIDE * (0.04 + 0.92 * risk)


def _y(utility: float) -> float:
    return _PLANE_TOP + _PLANE_SIDE * (0.96 - 0.92 * utility)
