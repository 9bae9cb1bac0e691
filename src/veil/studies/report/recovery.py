"""How much an attacker recovers as the number of releases grows."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from veil.studies import DEFAULT
from veil.studies.curves import Key, key, names
from veil.studies.domains import words_of
from veil.studies.experiment import Vocabulary
from veil.studies.report import svg as _svg
from veil.studies.report.markup import Markup, interval, join, number, percent, tag
from veil.studies.table import PLAIN, Row

_SIZES = (1, 2, 5, 10, 20, 50)
_Setting = tuple[str, str, str]  # data, attacker, measure
_Line = list[Row]  # one configuration, by number of releases


def recovery(rows: Sequence[Row], styles: Mapping[str, int]) -> list[Markup]:
    """Draw a group for each attacker and measure: a panel for each mechanism with several values.

    Mechanisms of one value share a panel.
    """
    grouped: dict[_Setting, dict[tuple[Key, str], _Line]] = {}
    for row in rows:
        if row.kind == "recovery" and row.mechanism != PLAIN and math.isfinite(row.score):
            lines = grouped.setdefault((row.data, row.attacker, row.measure), {})
            lines.setdefault((key(row), row.spec), []).append(row)
    named, words = names(rows), words_of(rows[0].domain if rows else DEFAULT)
    groups = []
    for i, (setting, lines) in enumerate(grouped.items()):
        by_curve: dict[str, list[_Line]] = {}
        for (curve, _), line in lines.items():
            by_curve.setdefault(named[curve, 0], []).append(sorted(line, key=_size))
        drawn = [
            _figure(setting[2], title, inside, styles, f"recovery-{i}-{j}", words)
            for j, (title, inside) in enumerate(_panels(by_curve))
        ]
        data, attacker, measure = setting
        heading = tag("h3", f"Share of {measure} recovered by {attacker} on {data}")
        groups.append(join(heading, tag("div", *drawn, class_="panels")))
    return groups


def _panels(by_curve: dict[str, list[_Line]]) -> list[tuple[str, list[tuple[str, _Line]]]]:
    """Return a title and the named lines of each panel; mechanisms of one value have no title."""
    together = [(name, lines[0]) for name, lines in by_curve.items() if len(lines) == 1]
    found: list[tuple[str, list[tuple[str, _Line]]]] = [("", together)] if together else []
    for name, lines in by_curve.items():
        if len(lines) > 1:
            lines.sort(key=lambda line: line[0].value)
            found.append((name, [(name, line) for line in lines]))
    return found


def _size(row: Row) -> int:
    return row.size


def _figure(
    measure: str,
    title: str,
    lines: list[tuple[str, _Line]],
    styles: Mapping[str, int],
    identity: str,
    words: Vocabulary,
) -> Markup:
    sizes = [row.size for _, line in lines for row in line]
    scale = _Scale(min(sizes), max(sizes))
    blind, chance = _chance(lines)
    parts = [
        _svg.frame(scale.ticks(sizes), f"{words.size} sent →", f"share of {measure} →"),
        blind,
    ]
    ends = _spread([_svg.unit_y(line[-1].score) for _, line in lines])
    for i, (name, line) in enumerate(lines):
        parts.append(_line(name, line, styles[name], i if title else styles[name], scale, words))
        if title:
            x = scale.place(line[-1].size) + 8
            parts.append(_svg.text(x, ends[i] + 3, _svg.short(line[0].value), "value", "start"))
    told = " ".join(
        f"{line[0].spec}: {number(line[0].score, 2)} with {line[0].size} and"
        f" {number(line[-1].score, 2)} with {line[-1].size} {words.size}."
        for _, line in lines
    )
    parameter = lines[0][1][0].parameter
    caption = (
        [tag("strong", title), f"; numbers are values of {parameter}" if parameter else ""]
        if title
        else [tag("strong", ", ".join(line[0].spec for _, line in lines))]
    )
    heading = f"Share of {measure} recovered, {title or 'one value of each mechanism'}"
    drawn = _svg.drawing(identity, heading, told, *parts)
    return tag("figure", tag("figcaption", *caption, f". {chance}"), drawn, class_="panel")


class _Scale:
    """The logarithmic axis of the numbers of releases."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = max(low, 1), max(high, 1)

    def place(self, size: int) -> float:
        """Place of a number of releases; a single one stands in the middle."""
        left, width = _svg.LEFT + 16, _svg.SIDE - 56
        if self.low == self.high:
            return left + width / 2
        return left + width * math.log(max(size, 1) / self.low) / math.log(self.high / self.low)

    def ticks(self, sizes: Sequence[int]) -> list[tuple[float, str]]:
        """Label the usual numbers, and others where there is room."""
        usual = [size for size in _SIZES if self.low <= size <= self.high]
        shown: list[int] = []
        for size in dict.fromkeys([self.low, self.high, *usual, *sorted(sizes)]):
            if all(abs(self.place(size) - self.place(other)) > 18 for other in shown):
                shown.append(size)
        return [(self.place(size), str(size)) for size in shown]


def _line(
    name: str, line: _Line, style: int, mark: int, scale: _Scale, words: Vocabulary
) -> Markup:
    places = [(scale.place(row.size), _svg.unit_y(row.score)) for row in line]
    d = "L".join(f"{_svg.at(x)} {_svg.at(y)}" for x, y in places)
    parts = [tag("path", class_="line", d=f"M{d}")] if len(places) > 1 else []
    for row, place in zip(line, places, strict=True):
        ends = _svg.bars(*place, None, _svg.span(row, _svg.unit_y))
        tip = (
            f"{row.spec}, {row.size} {words.size}\n"
            f"recovered {number(row.score)} {interval(row.low, row.high)}"
        )
        parts.append(
            _svg.marked(row, mark, place, ends, tip, data_size=str(row.size),
                        data_score=f"{row.score:.6g}")
        )  # fmt: skip
    return tag("g", *parts, class_=f"curve {_svg.colour(style)}", data_curve=name)


def _chance(lines: list[tuple[str, _Line]]) -> tuple[Markup, str]:
    known = [
        row.chance
        for _, line in lines
        for row in line
        if row.chance is not None and math.isfinite(row.chance)
    ]
    if not known:
        return Markup(""), ""
    d = f"M{_svg.LEFT} {_svg.at(_svg.unit_y(max(known)))}H{_svg.LEFT + _svg.SIDE}"
    return tag("path", class_="chance", d=d), f"Dotted: a blind guess, {percent(max(known))}."


def _spread(places: Sequence[float], gap: float = 10.0) -> list[float]:
    """Move labels apart so that each keeps a line to itself, as near to its place as can be."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for before, here in pairwise(order):
        moved[here] = max(moved[here], moved[before] + gap)
    limit = float(_svg.TOP + _svg.SIDE - 4)
    for here in reversed(order):
        moved[here] = min(moved[here], limit)
        limit = moved[here] - gap
    return moved
