"""The report of a study: one HTML file, readable in two minutes."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from veil.core.errors import InputError
from veil.data.files import whole_file
from veil.drawing.axes import Curve, Point, finite, legend, short
from veil.drawing.lines import draw_lines
from veil.drawing.markup import Markup, interval, join, number, percent, tag
from veil.drawing.page import figure, listed, page
from veil.studies import DEFAULT
from veil.studies.choose import UncertifiedError, choose
from veil.studies.domains import vocabulary
from veil.studies.experiment import Vocabulary
from veil.studies.panels import Key, Panel, is_utility, key, names, panels
from veil.studies.report import captions as hints
from veil.studies.report.drawing import best_curves, groups, styles_of
from veil.studies.report.tables import (
    cards,
    examples,
    facts,
    linkages,
    score_tables,
    similarities,
    utilities,
)
from veil.studies.results import PLAIN, Results, Row, Section

_Setting = tuple[str, str, str]  # data, attacker, measure
_Line = list[Row]  # one configuration, by number of releases


def recovery(rows: Sequence[Row], styles: Mapping[str, int]) -> list[Markup]:
    """Draw the curves of recovery, grouped by attack and measure.

    Each mechanism with several values has a panel. Mechanisms with one value share a panel.
    """
    grouped: dict[_Setting, dict[tuple[Key, str], _Line]] = {}
    for row in rows:
        if row.kind == "recovery" and row.mechanism != PLAIN and math.isfinite(row.score):
            lines = grouped.setdefault((row.data, row.attacker, row.measure), {})
            lines.setdefault((key(row), row.spec), []).append(row)
    curve_names, words = names(rows), vocabulary(rows[0].domain if rows else DEFAULT)
    groups = []
    for i, ((data, attacker, measure), lines) in enumerate(grouped.items()):
        by_curve: dict[str, list[_Line]] = {}
        for (curve, _), line in lines.items():
            line.sort(key=lambda row: row.size)
            by_curve.setdefault(curve_names[curve, 0], []).append(line)
        panels = [
            _figure(measure, title, inside, styles, f"recovery-{i}-{j}", words)
            for j, (title, inside) in enumerate(_panels(by_curve))
        ]
        heading = tag("h3", f"Share of {measure} recovered by {attacker} on {data}")
        groups.append(join(heading, tag("div", *panels, class_="panels")))
    return groups


def _panels(by_curve: dict[str, list[_Line]]) -> list[tuple[str, list[tuple[str, _Line]]]]:
    """Return a title and the lines of each panel; mechanisms with one value have no title."""
    together = [(name, lines[0]) for name, lines in by_curve.items() if len(lines) == 1]
    several: list[tuple[str, list[tuple[str, _Line]]]] = [("", together)] if together else []
    for name, lines in by_curve.items():
        if len(lines) > 1:
            lines.sort(key=lambda line: line[0].value)
            several.append((name, [(name, line) for line in lines]))
    return several


def _figure(
    measure: str,
    title: str,
    lines: list[tuple[str, _Line]],
    styles: Mapping[str, int],
    identity: str,
    words: Vocabulary,
) -> Markup:
    curves = []
    for i, (name, line) in enumerate(lines):
        points = tuple(_point(row, words, label=bool(title)) for row in line)
        curves.append(Curve(name, points, styles[name], i if title else styles[name]))
    parameter = lines[0][1][0].parameter
    caption = (
        [tag("strong", title), f"; numbers are values of {parameter}" if parameter else ""]
        if title
        else [tag("strong", ", ".join(line[0].spec for _, line in lines))]
    )
    chances = [row.chance for _, line in lines for row in line if row.chance is not None]
    chance = max(filter(math.isfinite, chances), default=None)
    blind = "" if chance is None else f"Dotted: a blind guess, {percent(chance)}."
    heading = f"Share of {measure} recovered, {title or 'one value of each mechanism'}"
    drawing = draw_lines(
        identity, heading, curves, f"{words.size} sent →", f"share of {measure} →", chance
    )
    return figure([*caption, f". {blind}"], drawing)


def _point(row: Row, words: Vocabulary, *, label: bool) -> Point:
    recovered = f"recovered {number(row.score)} {interval(row.low, row.high)}"
    data = {"value": f"{row.value:g}", "size": str(row.size), "score": f"{row.score:.6g}"}
    return Point(
        row.size, row.score, None, finite(row.low, row.high), row.spec,
        short(row.value) if label else "", f"{row.spec}, {row.size} {words.size}\n{recovered}",
        data=data,
    )  # fmt: skip


MAX_RISK = 0.05
_ABLE = ("active", "motivated", "lazy", "persistent")  # first one with a risk is used


def summary(
    rows: Sequence[Row], remarks: Sequence[str] = (), warnings: Sequence[str] = ()
) -> list[Markup]:
    """Return the summary: warnings, the best choice, remarks of the domain, a blind guess."""
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    first = [join(tag("strong", "Warning. "), warning) for warning in warnings]
    return [*first, _best(rows, words), *map(join, remarks), _blind(rows, words)]


def _best(rows: Sequence[Row], words: Vocabulary) -> Markup:
    measured = {row.measure for row in rows if row.kind == "risk"}
    ordered = [*_ABLE, *(axis.name for axis in reversed(words.risks))]
    attacker = next((measure for measure in ordered if measure in measured), None)
    settings = dict.fromkeys(
        (row.data, row.task) for row in filter(is_utility, rows) if row.mechanism != PLAIN
    )
    if attacker is None or not settings:
        return join("Risk and utility were not both measured, so no configuration is recommended.")
    choices = [_choice(rows, attacker, *setting, len(settings) > 1) for setting in settings]
    start = (
        f"The best utility with a risk of at most {percent(MAX_RISK)} with 97.5 % confidence (the"
        f" worst of all attackers; success: {words.axis(attacker).says}): "
    )
    return join(start, *choices[:1], *(join("; ", choice) for choice in choices[1:]), ".")


def _choice(rows: Sequence[Row], attacker: str, data: str, task: str, several: bool) -> Markup:
    words = vocabulary(rows[0].domain)
    where = f" on {data}" + (f" with {task}" if task else "") if several else ""
    doubt = ""
    try:
        choice = choose(rows, max_risk=MAX_RISK, attacker=attacker, data=data, task=task)
    except UncertifiedError as error:
        choice = error.choice
        doubt = "none is certified; by measured risk only, "
    except InputError as error:
        message = str(error).removesuffix(".")
        reason = message[:1].lower() + message[1:]
        return join(tag("strong", "none"), f"{where}; {reason}")
    best = choice.best
    of_plain = ""
    plain_utility = _plain_utility(rows, data, task)
    if plain_utility:
        of_plain = f", {percent(best.utility.score / plain_utility)} of {words.plain}"
    rivals = len(choice.ties) + len(choice.overlapping)
    close = f"; {rivals} more have overlapping intervals" if rivals else ""
    if best.foes:
        close += f"; not attacked by {', '.join(best.foes)}, which knows how it works"
    elif best.unfaced:
        close += f"; not attacked by {', '.join(best.unfaced)}, unlike others"
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
        return join("The success of a blind guess was not measured.")
    ordered = sorted(chances, key=words.rank)
    levels = ", ".join(f"{percent(chances[measure])} ({measure})" for measure in ordered)
    return join(
        "A ", tag("strong", "blind guess"), f" would reach a risk of {levels}. Any risk above that"
        f" comes from the {words.size}."
    )  # fmt: skip


FILE = "report.html"


def write_report(results: Results, folder: Path, name: str = FILE) -> Path:
    """Write the report to a folder, completely or not at all, and return its path.

    The file is self-contained and its policy forbids loading anything; its script only adds
    tooltips and hides curves. All text from the study is escaped.
    """
    target = Path(folder) / name
    written = render(results)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        private = any(section.private for section in results.sections)
        with whole_file(target, private=private) as part:
            part.write_text(written, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"Cannot write {target} ({error.strerror}).") from None
    return target


def render(results: Results) -> str:
    """Return the report as HTML."""
    rows, words = results.rows, vocabulary(results.domain)
    planes = panels(rows)
    shown, recovered = best_curves(planes), _recovered_names(rows)
    styles = styles_of(planes, shown, recovered)
    sections = [
        Section("plane", "Risk and utility", _planes(rows, planes, styles, shown, words)),
        Section("scores", "QuIPU scores", _scored(results, words)),
        Section("utility", "Utility", _with_hint(hints.utility(words), utilities(rows))),
        Section(
            "recovery",
            f"Recovery by number of {words.size}",
            _recovered(rows, styles, recovered, words),
        ),
        *_linked(rows, words),
        Section(
            "similarity",
            "Classical measures",
            _with_hint(hints.similarity(words), similarities(rows)),
        ),
        *results.sections,
        Section(
            "examples",
            f"Example {words.size}",
            _with_hint(_marks(words), examples(results.examples, words)),
        ),
        Section(
            "guarantees",
            "Guarantees",
            _with_hint(_claims(words), _side_by_side(cards(results.cards))),
        ),
        Section("facts", "How it was computed", _provenance(results)),
    ]
    title = f"{results.name}: risk and utility of {words.title}"
    return page(title, summary(rows, results.remarks, results.warnings), sections)


def _recovered_names(rows: Sequence[Row]) -> list[str]:
    """Return the names of the curves of recovery, the same as in the planes."""
    labels = names(rows)
    recovered = [row for row in rows if row.kind == "recovery" and row.mechanism != PLAIN]
    return list(dict.fromkeys(labels[key(row), 0] for row in recovered))


def _planes(
    rows: Sequence[Row],
    planes: Sequence[Panel],
    styles: dict[str, int],
    shown: Sequence[str],
    words: Vocabulary,
) -> tuple[Markup, ...]:
    if not planes:
        return (_none(),)
    drawings = groups(rows, planes, styles, shown)
    names_of = {curve.name for panel in planes for curve in panel.curves}
    curves = [name for name in styles if name in names_of]
    return (
        tag("p", hints.plane(words) + hints.few(len(shown), len(curves)), class_="hint"),
        legend({name: styles[name] for name in curves}, shown),
        *(part for group in drawings for part in group.parts),
    )


def _recovered(
    rows: Sequence[Row], styles: dict[str, int], curves: Sequence[str], words: Vocabulary
) -> tuple[Markup, ...]:
    drawings = recovery(rows, styles)
    if not drawings:
        return (_none(),)
    return (
        tag("p", hints.recovery(words), class_="hint"),
        legend({name: styles[name] for name in curves}),
        *drawings,
    )


def _scored(results: Results, words: Vocabulary) -> tuple[Markup, ...]:
    tables = score_tables(results.scores)
    if not tables:
        return (_none(),)
    marks = hints.marks(words)
    if any(score.missing for score in results.scores):
        marks += hints.UNFINISHED
    measured = dict.fromkeys(row.measure for row in results.rows if row.kind == "risk")
    if without := [measure for measure in measured if not words.axis(measure).scored]:
        marks += hints.unscored(without)
    return tag("p", hints.scores(words), class_="hint"), tag("p", marks, class_="hint"), *tables


def _linked(rows: Sequence[Row], words: Vocabulary) -> list[Section]:
    """Return the section on linkage, if the study has such an attack."""
    tables = linkages(rows)
    content = _with_hint(hints.linkage(words), tables)
    return [Section("linkage", "Released again", content)] if tables else []


def _with_hint(how: str, parts: Sequence[Markup]) -> tuple[Markup, ...]:
    return (tag("p", how, class_="hint"), *parts) if parts else (_none(),)


def _side_by_side(parts: Sequence[Markup]) -> list[Markup]:
    return [tag("div", *parts, class_="cards")] if parts else []


def _none() -> Markup:
    return tag("p", "Not part of this study.")


def _marks(words: Vocabulary) -> Markup:
    return join(
        f"Words that differ from the {words.subject} are ", tag("mark", "marked"),
        f". {words.subjects.capitalize()} are shown in full: do not share a report on private"
        f" {words.subjects}.",
    )  # fmt: skip


def _claims(words: Vocabulary) -> str:
    return (
        "A guarantee bounds what one unit of one release reveals about the original, no matter"
        f" what the attacker knows. The costs of several units and {words.size} add up. Guarantees"
        " are proved; the planes above are measured."
    )


def _provenance(results: Results) -> tuple[Markup, ...]:
    parts = [tag("pre", tag("code", value)) for name, value in results.facts if name == "command"]
    others = [(name, value) for name, value in results.facts if name != "command"]
    if others:
        parts.append(facts(others))
    if results.notes:
        parts += [tag("h3", "Notes"), listed(results.notes)]
    return tuple(parts) or (_none(),)
