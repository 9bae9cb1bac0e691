"""The measured part of the document: every figure with how it was made."""

from collections.abc import Iterator
from itertools import islice

from veil.core.formatting import count_of, printable
from veil.dpia.assessment import Assessment
from veil.dpia.document import Grid, Heading, Items, Pairs, Paragraph, Part
from veil.dpia.levels import level, likelihood, scale
from veil.dpia.measured import UNKNOWN, Source, estimate, named
from veil.dpia.questions import GAP
from veil.studies.domains import words_of
from veil.studies.report.markup import number, percent
from veil.studies.table import Row

_MOST = 40  # configurations, or figures of one, that are listed
_NOTES = 20


def measured(assessment: Assessment) -> Iterator[Part]:
    """Yield the largest risk, and the figures of each study."""
    yield Heading("Measured risk")
    if assessment.largest is None:
        yield Paragraph(f"{GAP}: no study was named, and no release was attacked.")
        return
    yield Paragraph(" ".join(told_largest(assessment)))
    yield Paragraph(told_origin(assessment))
    yield Paragraph(
        "A risk is the share of cases in which an attacker is right, on average; single people may"
        " be at more risk than the average. It is that of the attackers that were tried: others"
        " may do better. Some risks are counted beyond a blind guess: 0 is then no better than"
        " guessing. n is the number of cases, the brackets hold a 95 % interval.",
        hint=True,
    )
    for source in assessment.sources:
        yield from _study(source)


def told_largest(assessment: Assessment) -> Iterator[str]:
    """Say what the largest measured risk is, how it was made, and what follows from it."""
    if assessment.largest is None:
        yield f"{GAP}: no risk was measured."
        return
    source, row = assessment.largest
    bounds = assessment.answers.thresholds
    reached = likelihood(row.score, bounds)
    yield (
        f"The largest measured risk is {estimate(row)}: {printable(row.attacker) or 'nobody'}"
        f" ({_says(row)}) against {named(row)} on {printable(row.data)}."
    )
    if (worst := source.worst(row)) != UNKNOWN:
        yield f"For a single {words_of(row.domain).subject} it is up to {worst}."
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


def told_origin(assessment: Assessment) -> str:
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
            f"Not counted as a risk, but higher: {top.kind} of {printable(top.measure)} by"
            f" {printable(top.attacker)} against {named(top)}, {estimate(top)}{blind}."
        )


def _by(row: Row) -> str:
    return printable(row.attacker) or "nobody"


def _says(row: Row) -> str:
    return f"{printable(row.measure)}: {words_of(row.domain).axis(row.measure).says}"


def _study(source: Source) -> Iterator[Part]:
    words = words_of(source.domain)
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
            named(row) + (" (counted)" if (row.spec, row.size) in counted else ""),
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
    return Grid(f"All attackers against {named(found[0])}{rest}", heads, rows)
