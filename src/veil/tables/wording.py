"""Sentences about releases: their anonymity, their quality, and attacks on them."""

import math
from collections.abc import Iterator, Mapping, Sequence

from veil.core.formatting import count_of
from veil.core.outcome import Outcome
from veil.tables.measures.anonymity import Anonymity
from veil.tables.measures.loss import Loss
from veil.tables.recount import Claim, Verdict

HIGH = 0.2  # risk above which records are counted


def describe_anonymity(
    anonymity: Anonymity,
    rows: int,
    qi: Sequence[str],
    confidential: Sequence[str],
    l: int,  # noqa: E741 - the letter of the literature
) -> Iterator[str]:
    """Yield how many rows look alike, and what their classes reveal of confidential values."""
    yield f"{count_of(rows, 'row')}; anyone who knows {', '.join(qi)} sees:"
    if anonymity.k > 1:
        yield f"  k = {anonymity.k:,}: every row looks like at least {anonymity.k - 1:,} others."
    else:
        unique = count_of(anonymity.uniques, "row")
        yield f"  k = 1: {unique} can be distinguished from all others."
    if anonymity.classes is not None and anonymity.average is not None:
        size = f"{anonymity.average:,.1f} on average"
        yield f"  {anonymity.classes:,} classes of rows that look alike, {size}."
    if anonymity.l is None:
        yield "No confidential column is declared, so attribute disclosure is not measured."
        return
    yield f"Of {', '.join(confidential)}, in the worst class:"
    if anonymity.l < 2:
        yield "  l = 1: all rows of some class have the same value, which is thereby known."
    else:
        yield f"  l = {anonymity.l}: there are at least {anonymity.l} different values."
    if anonymity.entropy_l is not None:
        yield f"  entropy: as if {anonymity.entropy_l:.2f} values were equally frequent."
    if anonymity.c is not None and math.isfinite(anonymity.c):
        yield f"  recursive: (c, {l})-diversity for every c above {anonymity.c:.3f}."
    elif anonymity.c is not None:
        yield f"  recursive: (c, {l})-diversity for no c."
    for name in ("equal", "ordered", "hierarchical"):
        t = getattr(anonymity, f"t_{name}")
        if t is not None:
            yield f"  t = {t:.3f} ({name}): distance of its values from those of all rows, of 1."


def describe_verdict(verdict: Verdict, claim: Claim) -> Iterator[str]:
    """Yield whether the claim of a card holds for the file."""
    text = "; ".join(_parts(claim))
    if not text:
        yield "Not checked: this version does not know the mechanism on the card."
        return
    if verdict.faults:
        faults = "; ".join(verdict.faults)
        yield f"THE CLAIM OF THE CARD DOES NOT HOLD FOR THIS FILE ({text}): {faults}."
        yield "Withdraw it if you can, and protect the original again; see SECURITY.md."
    elif not verdict.unknown:
        yield f"The claim of the card holds for this file: {text}."
    if verdict.unknown:
        yield f"Not checked: {'; '.join(verdict.unknown)}; give --hierarchies."


def _parts(claim: Claim) -> Iterator[str]:
    if claim.k is not None:
        yield f"k = {claim.k:,} in {', '.join(claim.qi)}"
    if claim.l is not None:
        c = f"c = {claim.c:g}, " if claim.diversity == "recursive" else ""
        yield f"{c}l = {claim.l:g} ({claim.diversity}) of {', '.join(claim.columns)}"
    if claim.t is not None:
        yield f"t = {claim.t:g} ({claim.distance}) of {', '.join(claim.columns)}"


_QUALITY = {
    "discernibility": "sum of squared class sizes (larger: rows are harder to tell apart)",
    "c_avg": "mean class size divided by k (1 is the least)",
    "precision": "1: not generalised, 0: fully generalised",
    "entropy_bits": "bits of information that generalisation removed",
    "ncp": "mean share of its domain that a label covers",
}


def describe_quality(figures: Mapping[str, float]) -> Iterator[str]:
    """Yield how much information rows and labels keep; nothing without figures."""
    if figures:
        yield "Quality:"
    for name, text in _QUALITY.items():
        if name in figures:
            digits = ",.0f" if name == "discernibility" else ",.6g"
            yield f"  {name:<15} {figures[name]:>16{digits}}   {text}"


def describe_attack(outcome: Outcome, spec: str, records: int) -> Iterator[str]:
    """Yield how often an attack succeeds: on average, and for the record at greatest risk."""
    if outcome.details.get("succeeded") is False:
        yield f"{spec} does no better than blind guessing, so it says nothing about the release."
        return
    mean = f"{float(outcome.risk):.4f} [{outcome.low:.4f}, {outcome.high:.4f}]"
    yield f"{spec}: risk {mean}, the average of {count_of(records, 'record')}"
    if outcome.details.get("per") == "person":
        yield (
            "  per person; if rows of a household can be linked, the risk is that of the"
            " household, which is higher (household=COLUMN)"
        )
    if outcome.baseline is not None:
        yield f"  blind guess: {outcome.baseline:.4g}"
    if outcome.control is not None:
        yield f"  records that were not in the release: {outcome.control:.4f}"
    if len(outcome.per_record):
        worst, share = outcome.per_record.max(), (outcome.per_record > HIGH).mean()
        yield f"  the worst record: {worst:.4f}; above {HIGH:g}: {share:.2%} of the records"
    for name, value in outcome.details.items():  # only numbers: others may be of single records
        if isinstance(value, Mapping):
            numbers = [f"{key} {part:.4g}" for key, part in value.items() if _is_number(part)]
            if numbers:
                yield f"  {name}: {', '.join(numbers)}"
        elif _is_number(value):
            yield f"  {name}: {value:.4g}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_LOSSES = {
    "share_removed": "share of the rows that are not in the release",
    "il1s": "numbers: mean |x - x'| / (sqrt 2 sd)",
    "mae": "numbers: mean |x - x'|, in sd",
    "mse": "numbers: mean (x - x')^2, in sd^2",
    "mean_variation": "numbers: mean |x - x'| / |x|, where x is not 0",
    "left_out": "numbers: values of 0, not in mean_variation",
    "blanked": "numbers: share of values that are missing now",
    "means": "numbers: mean |change of a mean|, in sd",
    "variances": "numbers: mean |change of a variance|, as a share",
    "correlations": "numbers: mean |change of a correlation|",
    "covariances": "numbers: mean |change of a covariance|, in sd of both",
    "singular": "numbers: dimensions missing because columns are sums of others",
    "constant": "numbers: columns without variation, left out",
    "direct": "categories: share changed; a generalised label counts by what it covers",
    "contingency": "categories: share of records that move in tables of counts",
    "entropy": "categories: mean uncertainty of a value, in bits",
}


def loss_figures(loss: Loss) -> Iterator[tuple[str, float, str]]:
    """Yield each figure of the overall loss: its name, its value, and what it means."""
    for name, text in _LOSSES.items():
        if name in loss.overall:
            yield name, loss.overall[name], text
