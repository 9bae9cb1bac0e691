"""The report of a study: one HTML file that a person reads in two minutes."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from veil.core.errors import InputError
from veil.data.files import whole_file
from veil.studies import DEFAULT
from veil.studies.choose import UncertifiedError, choose
from veil.studies.domains import vocabulary
from veil.studies.experiment import Vocabulary
from veil.studies.panels import Key, Panel, is_utility, key, names, panels
from veil.studies.report import captions as hints
from veil.studies.report import svg as _svg
from veil.studies.report.drawing import best_curves, groups, legend, styles_of
from veil.studies.report.markup import Markup, interval, join, number, page, percent, tag
from veil.studies.report.tables import (
    cards,
    examples,
    facts,
    linkages,
    listed,
    score_tables,
    similarities,
    utilities,
)
from veil.studies.results import PLAIN, Results, Row, Section

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
    named, words = names(rows), vocabulary(rows[0].domain if rows else DEFAULT)
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


MAX_RISK = 0.05
_ABLE = ("active", "motivated", "lazy", "persistent")  # those that a bound is given for first


def summary(
    rows: Sequence[Row], remarks: Sequence[str] = (), warnings: Sequence[str] = ()
) -> list[Markup]:
    """Return the sentences: warnings, the best choice, the domain's remarks, a blind guess."""
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    first = [join(tag("strong", "Warning. "), one) for one in warnings]
    return [*first, _best(rows, words), *(join(one) for one in remarks), _blind(rows, words)]


def _best(rows: Sequence[Row], words: Vocabulary) -> Markup:
    measured = {row.measure for row in rows if row.kind == "risk"}
    ordered = [*_ABLE, *(axis.name for axis in reversed(words.risks))]
    attacker = next((one for one in ordered if one in measured), None)
    settings = dict.fromkeys(
        (row.data, row.task) for row in filter(is_utility, rows) if row.mechanism != PLAIN
    )
    if attacker is None or not settings:
        return join("Risk and utility were not both measured, so no configuration can be advised.")
    told = [_choice(rows, attacker, *setting, len(settings) > 1) for setting in settings]
    start = (
        f"The best utility with a risk of at most {percent(MAX_RISK)} with 97.5 % confidence (the"
        f" worst of all attackers; success: {words.axis(attacker).says}): "
    )
    return join(start, *told[:1], *(join("; ", one) for one in told[1:]), ".")


def _choice(rows: Sequence[Row], attacker: str, data: str, task: str, named: bool) -> Markup:
    words = vocabulary(rows[0].domain)
    where = f" on {data}" + (f" with {task}" if task else "") if named else ""
    doubt = ""
    try:
        choice = choose(rows, max_risk=MAX_RISK, attacker=attacker, data=data, task=task)
    except UncertifiedError as error:
        choice = error.choice
        doubt = "none is certain; by what was measured alone "
    except InputError as error:
        reason = str(error).removeprefix("Nothing fits: ").removesuffix(".")
        return join(tag("strong", "none"), f"{where}; {reason}")
    best = choice.best
    of_plain = ""
    plain = _plain_utility(rows, data, task)
    if plain:
        of_plain = f", {percent(best.utility.score / plain)} of {words.plain}"
    rivals = len(choice.ties) + len(choice.overlapping)
    close = f"; {rivals} more have intervals that overlap" if rivals else ""
    if best.foes:
        close += f"; it did not face {', '.join(best.foes)}, which knows how it works"
    elif best.unfaced:
        close += f"; it did not face {', '.join(best.unfaced)}, as others did"
    return join(
        doubt,
        tag("strong", best.spec),
        f" with {best.size} {words.size}{where} ({words.utility.name}"
        f" {number(best.utility.score)}{of_plain}; risk"
        f" {percent(best.risk.score)}{close})",
    )


def _plain_utility(rows: Sequence[Row], data: str, task: str) -> float | None:
    for row in filter(is_utility, rows):
        same = (row.mechanism, row.data, row.task) == (PLAIN, data, task)
        if same and math.isfinite(row.score) and row.score > 0:
            return row.score
    return None


def _blind(rows: Sequence[Row], words: Vocabulary) -> Markup:
    chances: dict[str, float] = {}
    for row in rows:
        if row.kind == "risk" and row.chance is not None and math.isfinite(row.chance):
            chances[row.measure] = max(chances.get(row.measure, 0.0), row.chance)
    if not chances:
        return join("What a blind guess would reach was not measured.")
    ordered = sorted(chances, key=words.rank)
    told = ", ".join(f"{percent(chances[one])} ({one})" for one in ordered)
    return join(
        "A ", tag("strong", "blind guess"), f" would reach a risk of {told}: what lies above it is"
        f" what the {words.size} give away."
    )  # fmt: skip


FILE = "report.html"


def write_report(results: Results, folder: Path, name: str = FILE) -> Path:
    """Write the report into a folder, whole or not at all, and return its path.

    The file holds everything it needs and forbids every load; its script only adds tooltips and
    hides curves. Each text of the study is escaped.
    """
    target = Path(folder) / name
    written = render(results)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        private = any(section.private for section in results.sections)
        with whole_file(target, private=private) as part:
            part.write_text(written, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{target} cannot be written ({error.strerror}).") from None
    return target


def render(results: Results) -> str:
    """Return the report as HTML."""
    rows, words = results.rows, vocabulary(results.domain)
    found = panels(rows)
    shown, recovered = best_curves(found), _recovered_names(rows)
    styles = styles_of(found, shown, recovered)
    sections = [
        Section("plane", "Risk and utility", _planes(rows, found, styles, shown, words)),
        Section("scores", "QuIPU scores", _scored(results, words)),
        Section("utility", "Utility", _told(hints.utility(words), utilities(rows))),
        Section(
            "recovery",
            f"Recovery by number of {words.size}",
            _recovered(rows, styles, recovered, words),
        ),
        *_linked(rows, words),
        Section(
            "similarity", "Classical measures", _told(hints.similarity(words), similarities(rows))
        ),
        *results.sections,
        Section(
            "examples",
            f"Example {words.size}",
            _told(_marks(words), examples(results.examples, words)),
        ),
        Section(
            "guarantees",
            "What is proved",
            _told(_claims(words), _side_by_side(cards(results.cards))),
        ),
        Section("facts", "How it was made", _made(results)),
    ]
    title = f"{results.name}: risk and utility of {words.title}"
    return page(title, summary(rows, results.remarks, results.warnings), sections)


def _recovered_names(rows: Sequence[Row]) -> list[str]:
    """Name the curves of recovery; where they are in the planes, too, they are alike."""
    named = names(rows)
    found = [row for row in rows if row.kind == "recovery" and row.mechanism != PLAIN]
    return list(dict.fromkeys(named[key(row), 0] for row in found))


def _planes(
    rows: Sequence[Row],
    found: Sequence[Panel],
    styles: dict[str, int],
    shown: Sequence[str],
    words: Vocabulary,
) -> tuple[Markup, ...]:
    if not found:
        return (_none(),)
    drawn = groups(rows, found, styles, shown)
    names_of = {curve.name for panel in found for curve in panel.curves}
    curves = [name for name in styles if name in names_of]
    return (
        tag("p", hints.plane(words) + hints.few(len(shown), len(curves)), class_="hint"),
        legend(styles, curves, shown),
        *(part for group in drawn for part in group.parts),
    )


def _recovered(
    rows: Sequence[Row], styles: dict[str, int], curves: Sequence[str], words: Vocabulary
) -> tuple[Markup, ...]:
    drawn = recovery(rows, styles)
    if not drawn:
        return (_none(),)
    return tag("p", hints.recovery(words), class_="hint"), legend(styles, curves, curves), *drawn


def _scored(results: Results, words: Vocabulary) -> tuple[Markup, ...]:
    drawn = score_tables(results.scores)
    if not drawn:
        return (_none(),)
    marks = hints.marks(words)
    if any(score.missing for score in results.scores):
        marks += hints.UNFINISHED
    measured = dict.fromkeys(row.measure for row in results.rows if row.kind == "risk")
    if without := [measure for measure in measured if not words.axis(measure).scored]:
        marks += hints.unscored(without)
    return tag("p", hints.scores(words), class_="hint"), tag("p", marks, class_="hint"), *drawn


def _linked(rows: Sequence[Row], words: Vocabulary) -> list[Section]:
    """Return the section on linkage, where a study has that attacker."""
    found = linkages(rows)
    told = _told(hints.linkage(words), found)
    return [Section("linkage", "Released again", told)] if found else []


def _told(how: str, parts: Sequence[Markup]) -> tuple[Markup, ...]:
    return (tag("p", how, class_="hint"), *parts) if parts else (_none(),)


def _side_by_side(parts: Sequence[Markup]) -> list[Markup]:
    return [tag("div", *parts, class_="cards")] if parts else []


def _none() -> Markup:
    return tag("p", "Not part of this study.")


def _marks(words: Vocabulary) -> Markup:
    return join(
        f"Words that the {words.subject} does not have at that place are ", tag("mark", "marked"),
        f". {words.subjects.capitalize()} are shown in full: keep a report on private ones to"
        " yourself.",
    )  # fmt: skip


def _claims(words: Vocabulary) -> str:
    return (
        "A guarantee bounds what one unit of one release says about the original, whatever the"
        f" attacker knows; budgets of several units and {words.size} add up. This is proved; what"
        " the planes above show is measured."
    )


def _made(results: Results) -> tuple[Markup, ...]:
    parts = [tag("pre", tag("code", value)) for name, value in results.facts if name == "command"]
    others = [(name, value) for name, value in results.facts if name != "command"]
    if others:
        parts.append(facts(others))
    if results.notes:
        parts += [tag("h3", "Notes"), listed(results.notes)]
    return tuple(parts) or (_none(),)
