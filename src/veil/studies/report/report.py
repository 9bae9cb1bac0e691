"""The report of a study: one HTML file that a person reads in two minutes."""

from collections.abc import Sequence
from pathlib import Path

from veil.core.errors import InputError
from veil.data.files import whole_file
from veil.studies.curves import Panel, key, names, panels
from veil.studies.domains import words_of
from veil.studies.experiment import Vocabulary
from veil.studies.report import hints
from veil.studies.report.best import best
from veil.studies.report.cards import cards
from veil.studies.report.examples import examples
from veil.studies.report.groups import groups, legend, styles_of
from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.page import page
from veil.studies.report.recovery import recovery
from veil.studies.report.scores import score_tables
from veil.studies.report.summary import summary
from veil.studies.report.tables import facts, linkages, listed, similarities
from veil.studies.table import PLAIN, Results, Row, Section

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
    rows, words = results.rows, words_of(results.domain)
    found = panels(rows)
    shown, recovered = best(found), _recovered_names(rows)
    styles = styles_of(found, shown, recovered)
    sections = [
        Section("plane", "Risk and utility", _planes(rows, found, styles, shown, words)),
        Section("scores", "QuIPU scores", _scored(results, words)),
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
    return page(title, summary(rows, results.remarks), sections)


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
