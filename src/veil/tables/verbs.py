"""What the commands say of releases, in words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.core.outcome import Outcome
from veil.tables.measures.anonymity import Anonymity
from veil.tables.measures.loss import Loss
from veil.tables.measures.loss import quality as quality_of
from veil.tables.mechanism import Release
from veil.tables.recount import Claim, Verdict
from veil.tables.table import Table

HIGH = 0.2  # a risk of a record that is counted
_KEPT = ("discernibility", "c_avg", "precision", "ncp")  # of the quality, on cards


def format_anonymity(
    found: Anonymity,
    rows: int,
    known: Sequence[str],
    secret: Sequence[str],
    l: int,  # noqa: E741
) -> Iterator[str]:
    """Say how many rows look alike, and what their classes tell of confidential values."""
    yield f"{count_of(rows, 'row')}; who knows {', '.join(known)} sees:"
    if found.k > 1:
        yield f"  k = {found.k:,}: every row looks like at least {found.k - 1:,} others."
    else:
        yield f"  k = 1: {count_of(found.uniques, 'row')} can be told from all others."
    if found.classes is not None and found.average is not None:
        alike = f"{found.average:,.1f} on average"
        yield f"  {found.classes:,} classes of rows that look alike, {alike}."
    if found.l is None:
        yield "No confidential column is declared, so that nothing is said of what is learnt."
        return
    yield f"Of {', '.join(secret)}, in the worst class:"
    yield from _said_of_values(found, found.l, l)


def _said_of_values(found: Anonymity, different: int, l: int) -> Iterator[str]:  # noqa: E741
    """Say what a class tells of confidential values."""
    if different < 2:
        yield "  l = 1: in some class all rows have one value, which is thereby known."
    else:
        yield f"  l = {different}: there are at least {different} different values."
    if found.entropy_l is not None:
        yield f"  entropy: as if {found.entropy_l:.2f} values were equally frequent."
    if found.c is not None and math.isfinite(found.c):
        yield f"  recursive: (c, {l})-diversity for every c above {found.c:.3f}."
    elif found.c is not None:
        yield f"  recursive: (c, {l})-diversity for no c."
    for name in ("equal", "ordered", "hierarchical"):
        value = getattr(found, f"t_{name}")
        if value is not None:
            yield f"  t = {value:.3f} ({name}): how far its values are from those of all, of 1."


def format_verdict(found: Verdict, claimed: Claim) -> Iterator[str]:
    """Say whether what a card claims holds in the file."""
    claim = "; ".join(_claimed(claimed))
    if not claim:
        yield "Not checked: this version does not know the method of the card."
        return
    if found.faults:
        wrong = "; ".join(found.faults)
        yield f"THE CLAIM OF THE CARD DOES NOT HOLD FOR THIS FILE ({claim}): {wrong}."
        yield "Withdraw it if you can, and protect the original again; see SECURITY.md."
    elif not found.unknown:
        yield f"The claim of the card holds for this file: {claim}."
    if found.unknown:
        yield f"Not checked: {'; '.join(found.unknown)}; give --hierarchies."


def _claimed(claim: Claim) -> Iterator[str]:
    if claim.k is not None:
        yield f"k = {claim.k:,} in {', '.join(claim.qi)}"
    if claim.l is not None:
        c = f"c = {claim.c:g}, " if claim.diversity == "recursive" else ""
        yield f"{c}l = {claim.l:g} ({claim.diversity}) of {', '.join(claim.columns)}"
    if claim.t is not None:
        yield f"t = {claim.t:g} ({claim.distance}) of {', '.join(claim.columns)}"


def format_given_up(names: Sequence[str]) -> Iterator[str]:
    """Say which columns a release has no values of."""
    if names:
        yield (
            f"Given up: {', '.join(names)}, where every value is now the top of the hierarchy. Ask"
            " for less (a smaller k, more suppression, fewer columns), or another minimise."
        )


def quality_figures(original: Table, release: Release) -> dict[str, float]:
    """Return what is said of quality on a card; nothing where it does not apply."""
    if not original.qi or release.rows is None:
        return {}
    try:
        found = asdict(quality_of(original, release))
    except InputError:
        return {}
    return {name: float(found[name]) for name in _KEPT if found.get(name) is not None}


def format_quality(found: Mapping[str, float]) -> Iterator[str]:
    """Say how much rows and labels still tell."""
    told = {
        "discernibility": "sum of squared class sizes (more: rows can be told apart less)",
        "c_avg": "mean class size, over k (1 is least)",
        "precision": "1 is no generalisation, 0 is all of it",
        "entropy_bits": "bits that labels tell less than values did",
        "ncp": "share of the domain that a label covers, on average",
    }
    yield "Quality:"
    for name, says in told.items():
        if name in found:
            shown = f"{found[name]:,.0f}" if name == "discernibility" else f"{found[name]:,.6g}"
            yield f"  {name:<15} {shown:>16}   {says}"


def format_attack(found: Outcome, by: str, n: int) -> Iterator[str]:
    """Say how often an attacker is right, on average and about the worst record."""
    if found.details.get("succeeded") is False:
        yield f"{by} does no better than who sees nothing: it says nothing of the release."
        return
    mean = f"{float(found.risk):.4f} [{found.low:.4f}, {found.high:.4f}]"
    yield f"{by}: risk {mean}, the average of {count_of(n, 'record')}"
    if found.details.get("per") == "person":
        yield (
            "  per person: where rows of one household can be linked, the risk is that of the"
            " household, and higher (household=COLUMN)"
        )
    if found.baseline is not None:
        yield f"  who sees nothing: {found.baseline:.4g}"
    if found.control is not None:
        yield f"  about records that were not in it: {found.control:.4f}"
    if len(found.per_record):
        worst, high = float(found.per_record.max()), float((found.per_record > HIGH).mean())
        yield f"  the worst record: {worst:.4f}; above {HIGH:g}: {high:.2%} of the records"
    yield from _said_of_details(found.details)


def _said_of_details(details: Mapping[str, object]) -> Iterator[str]:
    """Say the numbers among the details; what else is there may be of single records."""
    for name, value in details.items():
        if isinstance(value, Mapping):
            parts = {key: one for key, one in value.items() if _plain(one)}
            if parts:
                yield f"  {name}: " + ", ".join(f"{key} {one:.4g}" for key, one in parts.items())
        elif _plain(value):
            yield f"  {name}: {value:.4g}"


def _plain(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def overall_of_loss(found: Loss) -> Iterator[tuple[str, float, str]]:
    """Yield what was lost overall: name, figure, and what it is."""
    told = {
        "share_removed": "of the rows are not in the release",
        "il1s": "numbers: mean |x - x'| / (sqrt 2 sd)",
        "mae": "numbers: mean |x - x'|, in sd",
        "mse": "numbers: mean (x - x')^2, in sd^2",
        "mean_variation": "numbers: mean |x - x'| / |x|, where x is not 0",
        "left_out": "numbers: values that are 0, not in mean_variation",
        "blanked": "numbers: share of values that are missing now",
        "means": "numbers: mean |change of a mean|, in sd",
        "variances": "numbers: mean |change of a variance|, as a share",
        "correlations": "numbers: mean |change of a correlation|",
        "covariances": "numbers: mean |change of a covariance|, in sd of both",
        "singular": "numbers: dimensions that the columns lack, as sums of others do",
        "constant": "numbers: columns without variation, left out",
        "direct": "categories: share changed; generalised ones by what a label covers",
        "contingency": "categories: share of records that tables of counts move",
        "entropy": "categories: bits by which a value is uncertain, on average",
    }
    for name, says in told.items():
        if name in found.overall:
            yield name, found.overall[name], says
