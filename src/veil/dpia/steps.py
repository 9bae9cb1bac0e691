"""The document of an assessment: a summary, all gaps, and the five steps."""

from collections.abc import Iterator, Sequence

from veil.core.formatting import count_of, printable
from veil.dpia.answers import Text
from veil.dpia.assessment import REVIEW, Assessment
from veil.dpia.document import Chapter, Document, Grid, Heading, Items, Pairs, Paragraph, Part
from veil.dpia.figures import measured, told_largest, told_origin
from veil.dpia.levels import LEVELS, level
from veil.dpia.measured import named
from veil.dpia.questions import EVENTS, GAP, LISTED, PEOPLE, QUESTIONS, STEPS
from veil.studies.table import PLAIN

_NOT = (
    "This document puts measured figures beside the answers of a person. It is no legal advice and"
    " passes no verdict: whether the processing may begin is decided by people who answer for it."
)


def document(assessment: Assessment) -> Document:
    """Put the document together."""
    chapters = [
        Chapter(f"step-{number}", f"{number}. {title}", tuple(parts(assessment)))
        for number, (title, parts) in enumerate(
            zip(STEPS, (_needs, _description, _risks, _mitigation, _final), strict=True), start=1
        )
    ]
    gaps = Chapter(
        "gaps", f"What is not stated ({len(assessment.gaps)})", tuple(_gaps(assessment))
    )
    title = f"Impact assessment: {printable(assessment.title)}"
    return Document(title, tuple(_summary(assessment)), (gaps, *chapters))


def _summary(assessment: Assessment) -> Iterator[str]:
    severity = _level(assessment.event(EVENTS[0]).severity)
    yield " ".join([*told_largest(assessment), f"Its severity, as a person says: {severity}."])
    yield told_origin(assessment)
    yield (
        f"{count_of(len(assessment.gaps), 'point')} not stated. Assessed on"
        f" {assessment.day.isoformat()}; {_review(assessment)}"
    )
    yield _NOT


def _review(assessment: Assessment) -> str:
    usual = "" if assessment.answers.next_review else f" ({REVIEW} months later, by default)"
    return f"next review on {assessment.review.isoformat()}{usual}."


def _gaps(assessment: Assessment) -> Iterator[Part]:
    if not assessment.gaps:
        yield Paragraph("Every question has an answer. Whether it is a good one is for a person.")
        return
    yield Paragraph("By the keys of the file of answers:", hint=True)
    entries = []
    for number, title in enumerate(STEPS, start=1):
        found = [printable(gap.what) for gap in assessment.gaps if gap.step == number]
        if found:
            entries.append((f"{number}. {title} ({len(found)}): ", f"{GAP}: {listed(found)}"))
    yield Items(tuple(entries))


def listed(keys: Sequence[str]) -> str:
    """Write keys with those of one table together.

    >>> listed(["name", "risks.loss.why", "risks.loss.severity", "people.author"])
    'name, risks.loss (why, severity), people (author)'
    """
    tables: dict[str, list[str]] = {}
    for key in keys:
        table, _, last = key.rpartition(".")
        simple = bool(table) and " " not in key
        tables.setdefault(table if simple else key, []).extend([last] if simple else [])
    return ", ".join(
        f"{table} ({', '.join(ends)})" if ends else table for table, ends in tables.items()
    )


def _asked(assessment: Assessment, step: int) -> Pairs:
    return Pairs(
        tuple(
            (one.asks, paragraphs(assessment.stated(one.key)))
            for one in QUESTIONS
            if one.step == step
        )
    )


def paragraphs(text: Text) -> tuple[str, ...]:
    """Return the paragraphs of an answer, or that it is missing."""
    lines = (printable(line).strip() for part in text for line in part.splitlines())
    return tuple(filter(None, lines)) or (GAP,)


def _needs(assessment: Assessment) -> Iterator[Part]:
    yield _asked(assessment, 1)


def _description(assessment: Assessment) -> Iterator[Part]:
    yield _asked(assessment, 2)


def _risks(assessment: Assessment) -> Iterator[Part]:
    yield Grid(
        "Severity is what a person says, likelihood of access what was measured",
        ("what is feared", "severity", "likelihood"),
        tuple(
            (
                event.title,
                _level(assessment.event(event).severity),
                _level(assessment.likelihood(event)),
            )
            for event in EVENTS
        ),
    )
    yield _map(assessment)
    yield from measured(assessment)
    for event in EVENTS:
        said = assessment.event(event)
        asked = [(title, paragraphs(getattr(said, key))) for key, (_, title) in LISTED.items()]
        asked.append(("Why this severity and likelihood", paragraphs(said.why)))
        yield Heading(event.title)
        yield Pairs(tuple(asked))


def _level(number: int | None) -> str:
    return GAP if number is None else level(number)


def _map(assessment: Assessment) -> Grid:
    """Return the map of risks: severity upwards, likelihood to the right."""
    places: dict[tuple[int, int], list[str]] = {}
    left = []
    for event in EVENTS:
        severity, chance = assessment.event(event).severity, assessment.likelihood(event)
        if severity is None or chance is None:
            left.append(event.key)
        else:
            places.setdefault((severity, chance), []).append(event.key)
    rows = tuple(
        (f"severity {up} ({LEVELS[up]})", *(", ".join(places.get((up, to), [])) for to in LEVELS))
        for up in sorted(LEVELS, reverse=True)
    )
    without = f"; {GAP} for {', '.join(left)}" if left else ""
    heads = ("", *(f"likelihood {to} ({LEVELS[to]})" for to in LEVELS))
    return Grid(f"Map of the risks{without}", heads, rows)


def _mitigation(assessment: Assessment) -> Iterator[Part]:
    yield Heading("Measures taken")
    taken = tuple(
        (f"{printable(one.title)} (against {', '.join(one.against)})", paragraphs(one.content))
        for one in assessment.answers.measures
    )
    yield Pairs(taken) if taken else Paragraph(GAP)
    yield Heading("Protection of what leaves")
    used = tuple(
        (title, tuple(told))
        for title, told in protections(assessment)
    )  # fmt: skip
    yield Pairs(used) if used else Paragraph(f"{GAP}: which configuration will be used.")


def protections(assessment: Assessment) -> Iterator[tuple[str, list[str]]]:
    """Yield the methods that will be used, with what is proved and what is not."""
    for source in assessment.sources:
        for spec, size in sorted(source.chosen):
            row = next(row for row in source.counted if (row.spec, row.size) == (spec, size))
            claim = source.claim(row)
            told = [f"Proved: {source.proved(row)}.", f"Utility: {source.utility(row)}."]
            if claim and claim.caveat:
                told.append(f"Not covered: {printable(claim.caveat)}")
            if row.mechanism == PLAIN:
                told = ["The data leave as they are."]
            yield f"{named(row)} on {printable(row.data)}", told


def _final(assessment: Assessment) -> Iterator[Part]:
    yield _asked(assessment, 5)
    people = [
        (title, paragraphs(getattr(assessment.answers.people, key)))
        for key, title in PEOPLE.items()
    ]
    review = _review(assessment)
    yield Pairs((*people, ("Review", (review[:1].upper() + review[1:],))))
    yield Items(
        (
            ("", "Look at it again when the data, the purposes, the method or what others may know"
             " change, and not later than the next review."),
            ("", "Figures are those of the studies above. Each can be repeated by its command; a"
             " release of your own is drawn anew, and is not one of those that were attacked."),
        )
    )  # fmt: skip
