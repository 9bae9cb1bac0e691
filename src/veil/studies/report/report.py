"""The report of a study: one HTML file that a person reads in two minutes."""

from collections.abc import Sequence
from pathlib import Path

from veil.core.errors import InputError
from veil.data.files import whole_file
from veil.studies._best import best
from veil.studies._curves import PLAIN, Panel, key, names, panels
from veil.studies.planes import OFF_SCALE
from veil.studies.report import hints as _hints
from veil.studies.report.cards import cards
from veil.studies.report.examples import examples
from veil.studies.report.groups import groups, legend, styles_of
from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.page import Section, page
from veil.studies.report.recovery import recovery
from veil.studies.report.scores import score_tables
from veil.studies.report.summary import summary
from veil.studies.report.tables import facts, linkages, listed, similarities
from veil.studies.table import Results, Row

FILE = "report.html"


def write_report(results: Results, folder: Path) -> Path:
    """Write ``report.html`` into a folder, whole or not at all, and return its path.

    The file holds everything it needs and forbids every load; its script only adds tooltips and
    hides curves. Each text of the study is escaped.
    """
    target = Path(folder) / FILE
    written = render(results)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as part:
            part.write_text(written, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{target} cannot be written ({error.strerror}).") from None
    return target


def render(results: Results) -> str:
    """Return the report as HTML."""
    rows = results.rows
    found = panels(rows)
    shown, recovered = best(found), _recovered_names(rows)
    styles = styles_of(found, shown, recovered)
    sections = [
        Section("plane", "Risk and utility", _planes(rows, found, styles, shown)),
        Section("scores", "QuIPU scores", _scored(results)),
        Section("recovery", "Recovery by number of variants", _recovered(rows, styles, recovered)),
        *_linked(rows),
        Section("similarity", "Classical measures", _told(_hints.SIMILARITY, similarities(rows))),
        Section("examples", "Example variants", _told(_marks(), examples(results.examples))),
        Section(
            "guarantees", "What is proved", _told(_claims(), _side_by_side(cards(results.cards)))
        ),
        Section("facts", "How it was made", _made(results)),
    ]
    return page(f"{results.name}: risk and utility of private search", summary(rows), sections)


def _recovered_names(rows: Sequence[Row]) -> list[str]:
    """Name the curves of recovery; where they are in the planes, too, they are alike."""
    named = names(rows)
    found = [row for row in rows if row.kind == "recovery" and row.mechanism != PLAIN]
    return list(dict.fromkeys(named[key(row), 0] for row in found))


def _planes(
    rows: Sequence[Row], found: Sequence[Panel], styles: dict[str, int], shown: Sequence[str]
) -> tuple[Markup, ...]:
    if not found:
        return (_none(),)
    drawn = groups(rows, found, styles, shown)
    names_of = {curve.name for panel in found for curve in panel.curves}
    curves = [name for name in styles if name in names_of]
    return (
        tag("p", _hints.PLANE + _hints.few(len(shown), len(curves)), class_="hint"),
        legend(styles, curves, shown),
        *(part for group in drawn for part in group.parts),
    )


def _recovered(
    rows: Sequence[Row], styles: dict[str, int], curves: Sequence[str]
) -> tuple[Markup, ...]:
    drawn = recovery(rows, styles)
    if not drawn:
        return (_none(),)
    return tag("p", _hints.RECOVERY, class_="hint"), legend(styles, curves, curves), *drawn


def _scored(results: Results) -> tuple[Markup, ...]:
    drawn = score_tables(results.scores)
    if not drawn:
        return (_none(),)
    marks = _hints.MARKS
    if any(score.missing for score in results.scores):
        marks += _hints.UNFINISHED
    if any(row.kind == "risk" and row.measure in OFF_SCALE for row in results.rows):
        marks += _hints.NO_PERSISTENT
    return tag("p", _hints.SCORES, class_="hint"), tag("p", marks, class_="hint"), *drawn


def _linked(rows: Sequence[Row]) -> list[Section]:
    """Return the section on linkage, where a study has that attacker."""
    found = linkages(rows)
    return [Section("linkage", "Asked again", _told(_hints.LINKAGE, found))] if found else []


def _told(how: str, parts: Sequence[Markup]) -> tuple[Markup, ...]:
    return (tag("p", how, class_="hint"), *parts) if parts else (_none(),)


def _side_by_side(parts: Sequence[Markup]) -> list[Markup]:
    return [tag("div", *parts, class_="cards")] if parts else []


def _none() -> Markup:
    return tag("p", "Not part of this study.")


def _marks() -> Markup:
    return join(
        "Words that the query does not have at that place are ", tag("mark", "marked"),
        ". Queries are shown in full: keep a report on private ones to yourself.",
    )  # fmt: skip


def _claims() -> str:
    return (
        "A guarantee bounds what one word of one variant says about the original, whatever the"
        " attacker knows; budgets of several words and variants add up. This is proved; what the"
        " planes above show is measured."
    )


def _made(results: Results) -> tuple[Markup, ...]:
    parts = [tag("pre", tag("code", value)) for name, value in results.facts if name == "command"]
    others = [(name, value) for name, value in results.facts if name != "command"]
    if others:
        parts.append(facts(others))
    if results.notes:
        parts += [tag("h3", "Notes"), listed(results.notes)]
    return tuple(parts) or (_none(),)
