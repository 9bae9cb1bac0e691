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
        "A risk is the average share of cases where an attacker is right. Single people may be at"
        " more risk than the average. Only the listed attackers were tried; others may do better."
        " Some risks are counted beyond a blind guess: 0 is then no better than guessing. n is the"
        " number of cases, and the brackets contain a 95 % interval.",
        hint=True,
    )
    for source in assessment.sources:
        yield from _study(source)


def largest_risk(assessment: Assessment) -> Iterator[str]:
    """Yield sentences on the largest measured risk and its likelihood."""
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
        yield "It is the largest of all configurations, because the one to be used is not stated."
    yield f"Its likelihood is {level(reached)}, by the thresholds {scale(bounds)}."
    if (beyond := likelihood(row.high, bounds)) > reached:
        yield f"The interval reaches up to {number(row.high)}, which would be {level(beyond)}."
    if row.chance is not None:
        yield f"A blind guess would reach {number(row.chance)}."
    yield from _above(assessment, row)
    if sum(len(other.chosen) for other in assessment.sources) > 1:
        yield "Several releases are named. Each was attacked alone; together they reveal more."


def risk_origin(assessment: Assessment) -> str:
    """Return the guarantee, command and seed of the largest risk, as text."""
    if assessment.largest is None:
        return GAP
    source, row = assessment.largest
    seed = f"seed {GAP}" if source.seed == GAP else source.seed
    return f"Proved: {source.proved(row)}. Command: {source.command}. Draws: {seed}."


def _above(assessment: Assessment, largest: Row) -> Iterator[str]:
    """Yield a sentence if another measure of an attack exceeds the largest counted risk."""
    others = [
        row
        for source in assessment.sources
        for configuration in dict.fromkeys((item.spec, item.size) for item in source.counted)
        for row in source.attacked(*configuration)
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
    """Return a table with the largest risk of each configuration. Counted ones are marked."""
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
    omitted = len(first) - len(rows)
    rest = f"; {count_of(omitted, 'configuration')} of lower risk not listed" if omitted else ""
    heads = (
        "method", "largest risk", "attacker", "worst case", "blind guess", "utility",
        "proved, in all",
    )  # fmt: skip
    return Grid(
        f"The largest risk of each configuration of {source.title}{rest}", heads, tuple(rows)
    )


def _attackers(source: Source, spec: str, size: int) -> Grid:
    """Return a table with all attack figures of a configuration."""
    attacks = source.attacked(spec, size)
    rows = tuple(
        (
            _by(row),
            f"{row.kind}, {printable(row.measure)}",
            estimate(row),
            source.worst(row) if row.kind == "risk" else "–",
            "–" if row.chance is None else percent(row.chance),
        )
        for row in attacks[:_MOST]
    )
    heads = ("attacker", "what is counted", "success", "worst case", "blind guess")
    omitted = len(attacks) - len(rows)
    rest = f"; {count_of(omitted, 'figure')} not listed" if omitted else ""
    return Grid(f"All attackers against {configuration_name(attacks[0])}{rest}", heads, rows)


_NOT = (
    "This document combines measured figures with the answers of a person. It is neither legal"
    " advice nor a verdict. The people responsible decide whether the processing may begin."
)


def document(assessment: Assessment) -> Document:
    """Return the document of an assessment."""
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
    """Return keys as text, grouped by table.

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


def _answers(assessment: Assessment, step: int) -> Pairs:
    return Pairs(
        tuple(
            (item.asks, paragraphs(assessment.stated(item.key)))
            for item in QUESTIONS
            if item.step == step
        )
    )


def paragraphs(text: Text) -> tuple[str, ...]:
    """Return the paragraphs of an answer, or `GAP` if it is missing."""
    lines = (printable(line).strip() for part in text for line in part.splitlines())
    return tuple(filter(None, lines)) or (GAP,)


def _needs(assessment: Assessment) -> Iterator[Part]:
    yield _answers(assessment, 1)


def _description(assessment: Assessment) -> Iterator[Part]:
    yield _answers(assessment, 2)


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
        answers = assessment.event(event)
        pairs = [(title, paragraphs(getattr(answers, key))) for key, (_, title) in LISTED.items()]
        pairs.append(("Why this severity and likelihood", paragraphs(answers.why)))
        yield Heading(event.title)
        yield Pairs(tuple(pairs))


def _level(number: int | None) -> str:
    return GAP if number is None else level(number)


def _map(assessment: Assessment) -> Grid:
    """Return the risk map: severity upwards, likelihood to the right."""
    cells: dict[tuple[int, int], list[str]] = {}
    unplaced = []
    for event in EVENTS:
        severity, chance = assessment.event(event).severity, assessment.likelihood(event)
        if severity is None or chance is None:
            unplaced.append(event.key)
        else:
            cells.setdefault((severity, chance), []).append(event.key)
    rows = tuple(
        (f"severity {up} ({LEVELS[up]})", *(", ".join(cells.get((up, to), [])) for to in LEVELS))
        for up in sorted(LEVELS, reverse=True)
    )
    without = f"; {GAP} for {', '.join(unplaced)}" if unplaced else ""
    heads = ("", *(f"likelihood {to} ({LEVELS[to]})" for to in LEVELS))
    return Grid(f"Map of the risks{without}", heads, rows)


def _mitigation(assessment: Assessment) -> Iterator[Part]:
    yield Heading("Measures taken")
    taken = tuple(
        (f"{printable(item.title)} (against {', '.join(item.against)})", paragraphs(item.content))
        for item in assessment.answers.measures
    )
    yield Pairs(taken) if taken else Paragraph(GAP)
    yield Heading("Protection of releases")
    used = tuple(
        (title, tuple(lines))
        for title, lines in protections(assessment)
    )  # fmt: skip
    yield Pairs(used) if used else Paragraph(f"{GAP}: which configuration will be used.")


def protections(assessment: Assessment) -> Iterator[tuple[str, list[str]]]:
    """Yield the configurations that will be used, with guarantee, utility and limits."""
    for source in assessment.sources:
        for spec, size in sorted(source.chosen):
            row = next(row for row in source.counted if (row.spec, row.size) == (spec, size))
            claim = source.claim(row)
            lines = [f"Proved: {source.proved(row)}.", f"Utility: {source.utility(row)}."]
            if claim and claim.caveat:
                lines.append(f"Not covered: {printable(claim.caveat)}")
            if row.mechanism == PLAIN:
                lines = ["The data are released unprotected."]
            yield f"{configuration_name(row)} on {printable(row.data)}", lines


def _final(assessment: Assessment) -> Iterator[Part]:
    yield _answers(assessment, 5)
    people = [
        (title, paragraphs(getattr(assessment.answers.people, key)))
        for key, title in PEOPLE.items()
    ]
    review = _review(assessment)
    yield Pairs((*people, ("Review", (review[:1].upper() + review[1:],))))
    yield Items(
        (
            ("", "Review this assessment when the data, the purposes, the mechanism or what others"
             " may know change, and not later than the next review."),
            ("", "The figures are those of the studies above. Their commands repeat them. Your own"
             " release is a new draw, and not one of the attacked releases."),
        )
    )  # fmt: skip
