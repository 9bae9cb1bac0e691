"""The document of an assessment: a summary, all gaps, the figures and the five steps."""

from collections.abc import Iterator, Sequence
from itertools import islice

from veil.core.formatting import count_of, printable
from veil.dpia.answers import (
    EVENTS,
    GAP,
    LEVELS,
    LISTED,
    PEOPLE,
    QUESTIONS,
    STEPS,
    Text,
    level,
    likelihood,
    scale,
)
from veil.dpia.assessment import REVIEW, Assessment
from veil.dpia.document import Chapter, Document, Grid, Heading, Items, Pairs, Paragraph, Part
from veil.dpia.measured import UNKNOWN, Source, configuration_name, estimate
from veil.drawing.markup import number, percent
from veil.studies.domains import vocabulary
from veil.studies.results import PLAIN, Row

_MOST = 40  # configurations, or figures of one, that are listed
_NOTES = 20


def measured_parts(assessment: Assessment) -> Iterator[Part]:
    """Yield the largest risk, and the figures of each study."""
    yield Heading("Measured risk")
    if assessment.largest is None:
        yield Paragraph(f"{GAP}: no study was named, and no release was attacked.")
        return
    yield Paragraph(" ".join(largest_risk(assessment)))
    yield Paragraph(risk_origin(assessment))
    yield Paragraph(
        "A risk is the share of cases in which an attacker is right, on average; single people may"
        " be at more risk than the average. It is that of the attackers that were tried: others"
        " may do better. Some risks are counted beyond a blind guess: 0 is then no better than"
        " guessing. n is the number of cases, the brackets hold a 95 % interval.",
        hint=True,
    )
    for source in assessment.sources:
        yield from _study(source)


def largest_risk(assessment: Assessment) -> Iterator[str]:
    """Say what the largest measured risk is, how it was made, and what follows from it."""
    if assessment.largest is None:
        yield f"{GAP}: no risk was measured."
        return
    source, row = assessment.largest
    bounds = assessment.answers.thresholds
    reached = likelihood(row.score, bounds)
    yield (
        f"The largest measured risk is {estimate(row)}: {printable(row.attacker) or 'nobody'}"
        f" ({_says(row)}) against {configuration_name(row)} on {printable(row.data)}."
    )
    if (worst := source.worst(row)) != UNKNOWN:
        yield f"For a single {vocabulary(row.domain).subject} it is up to {worst}."
    if not source.chosen:
        yield "It is the largest of all configurations, as none is named as the one to be used."
    yield f"Its likelihood is {level(reached)}, by the thresholds {scale(bounds)}."
    if (beyond := likelihood(row.high, bounds)) > reached:
        yield f"The interval reaches up to {number(row.high)}, which would be {level(beyond)}."
    if row.chance is not None:
        yield f"A blind guess would reach {number(row.chance)}."
    yield from _above(assessment, row)
    if sum(len(one.chosen) for one in assessment.sources) > 1:
        yield "Several releases are named, and each was attacked by itself: all give away more."


def risk_origin(assessment: Assessment) -> str:
    """Say how the largest risk was measured, and what is proved of what was attacked."""
    if assessment.largest is None:
        return GAP
    source, row = assessment.largest
    seed = f"seed {GAP}" if source.seed == GAP else source.seed
    return f"Proved: {source.proved(row)}. Command: {source.command}. Draws: {seed}."


def _above(assessment: Assessment, largest: Row) -> Iterator[str]:
    """Say what attackers achieve beyond the largest risk that is counted, by other measures."""
    others = [
        row
        for source in assessment.sources
        for chosen in dict.fromkeys((one.spec, one.size) for one in source.counted)
        for row in source.attacked(*chosen)
        if row.kind != "risk" and row.score > largest.score
    ]
    if others:
        top = max(others, key=lambda row: row.score)
        blind = "" if top.chance is None else f" (a blind guess: {number(top.chance)})"
        yield (
            f"Not counted as a risk, but higher: {top.kind} of {printable(top.measure)}"
            f" by {printable(top.attacker)} against {configuration_name(top)},"
            f" {estimate(top)}{blind}."
        )


def _by(row: Row) -> str:
    return printable(row.attacker) or "nobody"


def _says(row: Row) -> str:
    return f"{printable(row.measure)}: {vocabulary(row.domain).axis(row.measure).says}"


def _study(source: Source) -> Iterator[Part]:
    words = vocabulary(source.domain)
    yield Heading(f"Study: {source.title}")
    yield Pairs(
        (
            ("Kind of data", (words.title,)),
            ("Data", (source.data,)),
            ("Command", (source.command,)),
            ("Draws", (source.seed,)),
            ("Version of veil", (source.version,)),
        )
    )
    yield _configurations(source)
    for spec, size in sorted(source.chosen):
        yield _attackers(source, spec, size)
    if source.facts.notes:
        yield Items(tuple(("", printable(note)) for note in source.facts.notes[:_NOTES]))


def _configurations(source: Source) -> Grid:
    """Return the largest risk of each configuration; those that are counted are marked."""
    counted = {(row.spec, row.size) for row in source.counted}
    first: dict[tuple[str, str, int], Row] = {}
    for row in source.risks:
        first.setdefault((row.data, row.spec, row.size), row)
    rows = [
        (
            configuration_name(row) + (" (counted)" if (row.spec, row.size) in counted else ""),
            estimate(row),
            f"{printable(row.attacker) or 'nobody'}, {printable(row.measure)}",
            source.worst(row),
            "–" if row.chance is None else percent(row.chance),
            source.utility(row),
            source.proved(row),
        )
        for row in islice(first.values(), _MOST)
    ]
    left = len(first) - len(rows)
    rest = f"; {count_of(left, 'configuration')} of lower risk not listed" if left else ""
    heads = (
        "method", "largest risk", "attacker", "worst case", "blind guess", "utility",
        "proved, in all",
    )  # fmt: skip
    return Grid(
        f"The largest risk of each configuration of {source.title}{rest}", heads, tuple(rows)
    )


def _attackers(source: Source, spec: str, size: int) -> Grid:
    """Return all that attackers achieve against what will be used."""
    found = source.attacked(spec, size)
    rows = tuple(
        (
            _by(row),
            f"{row.kind}, {printable(row.measure)}",
            estimate(row),
            source.worst(row) if row.kind == "risk" else "–",
            "–" if row.chance is None else percent(row.chance),
        )
        for row in found[:_MOST]
    )
    heads = ("attacker", "what is counted", "success", "worst case", "blind guess")
    left = len(found) - len(rows)
    rest = f"; {count_of(left, 'figure')} not listed" if left else ""
    return Grid(f"All attackers against {configuration_name(found[0])}{rest}", heads, rows)


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
    yield " ".join([*largest_risk(assessment), f"Its severity, as a person says: {severity}."])
    yield risk_origin(assessment)
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
    for step, title in enumerate(STEPS, start=1):
        gaps = [printable(gap.what) for gap in assessment.gaps if gap.step == step]
        if gaps:
            entries.append((f"{step}. {title} ({len(gaps)}): ", f"{GAP}: {group_keys(gaps)}"))
    yield Items(tuple(entries))


def group_keys(keys: Sequence[str]) -> str:
    """Write keys with those of one table together.

    >>> group_keys(["name", "risks.loss.why", "risks.loss.severity", "people.author"])
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
    yield from measured_parts(assessment)
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
            yield f"{configuration_name(row)} on {printable(row.data)}", told


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
