"""Three sentences that say what a study found."""

import math
from collections.abc import Sequence

from veil.core.errors import InputError
from veil.studies._curves import MEASURES, PLAIN, is_utility, key, names
from veil.studies.choose import Attacker, UncertifiedError, choose
from veil.studies.report.markup import Markup, join, number, percent, tag
from veil.studies.report.plane import success
from veil.studies.table import IN_CLEAR, Row

MAX_RISK = 0.05
OFTEN = 0.1  # share of queries one of whose variants is the query itself
CLEAR = 0.9  # from this share of kept words, or of queries found at once, a text is all but clear
_ABLE: tuple[Attacker, ...] = ("active", "motivated", "lazy", "persistent")


def summary(rows: Sequence[Row]) -> list[Markup]:
    """Return the sentences: the best choice, what is nearly in clear, and a blind guess."""
    return [_best(rows), _clear(rows), _blind(rows)]


def _best(rows: Sequence[Row]) -> Markup:
    measured = {row.measure for row in rows if row.kind == "risk"}
    attacker = next((one for one in _ABLE if one in measured), None)
    settings = dict.fromkeys((row.collection, row.engine) for row in filter(is_utility, rows))
    if attacker is None or not settings:
        return join("Risk and utility were not both measured, so no configuration can be advised.")
    told = [_choice(rows, attacker, *setting, len(settings) > 1) for setting in settings]
    start = (
        f"The best utility with a risk of at most {percent(MAX_RISK)} with 97.5 % confidence (the"
        f" worst of all attackers; success: {success(attacker)}): "
    )
    return join(start, *told[:1], *(join("; ", one) for one in told[1:]), ".")


def _choice(
    rows: Sequence[Row], attacker: Attacker, collection: str, engine: str, named: bool
) -> Markup:
    where = f" on {collection}" + (f" with {engine}" if engine else "") if named else ""
    doubt = ""
    try:
        choice = choose(
            rows, max_risk=MAX_RISK, attacker=attacker, collection=collection, engine=engine
        )
    except UncertifiedError as error:
        choice = error.choice
        doubt = "none is certain; by what was measured alone "
    except InputError as error:
        reason = str(error).removeprefix("Nothing fits: ").removesuffix(".")
        return join(tag("strong", "none"), f"{where}; {reason}")
    best = choice.best
    of_plain = ""
    plain = _plain_utility(rows, collection, engine)
    if plain:
        of_plain = f", {percent(best.utility.score / plain)} of plain search"
    rivals = len(choice.ties) + len(choice.overlapping)
    close = f"; {rivals} more have intervals that overlap" if rivals else ""
    if best.unfaced:
        close += f"; it did not face {', '.join(best.unfaced)}, as others did"
    return join(
        doubt,
        tag("strong", best.spec),
        f" with {best.size} variants{where} (nDCG@10 {number(best.utility.score)}{of_plain}; risk"
        f" {percent(best.risk.score)}{close})",
    )


def _plain_utility(rows: Sequence[Row], collection: str, engine: str) -> float | None:
    for row in filter(is_utility, rows):
        same = (row.mechanism, row.collection, row.engine) == (PLAIN, collection, engine)
        if same and math.isfinite(row.score) and row.score > 0:
            return row.score
    return None


def _clear(rows: Sequence[Row]) -> Markup:
    kept = [row for row in rows if row.kind == "similarity" and row.measure == IN_CLEAR]
    if kept:
        return _sent(rows, kept)
    kept = [row for row in rows if row.kind == "similarity" and row.measure == "jaccard"]
    why = f"at least {percent(CLEAR)} of the words are shared with the query (Jaccard)"
    if not kept:
        kept = [row for row in rows if row.kind == "risk" and row.measure == "lazy"]
        why = f"at least {percent(CLEAR)} of the queries are guessed at once"
    if not kept:
        return join("Whether queries go out nearly in clear was not measured.")
    told = _above(rows, kept, CLEAR)
    if not told:
        return join(f"No configuration sends queries nearly in clear ({why}).")
    return join("Queries leave ", tag("strong", "nearly in clear"), f" with {told}: {why}.")


def _sent(rows: Sequence[Row], kept: Sequence[Row]) -> Markup:
    """Say where the query itself is among its variants."""
    told = _above(rows, kept, OFTEN)
    if not told:
        return join(
            "No configuration sends the query itself among its variants for"
            f" {percent(OFTEN)} of the queries or more."
        )
    return join(
        "Queries leave ", tag("strong", "in clear"), f" with {told}: for {percent(OFTEN)} of them"
        " or more one of the variants is the query itself."
    )  # fmt: skip


def _above(rows: Sequence[Row], kept: Sequence[Row], limit: float) -> str:
    """Name the mechanisms, and the values of their parameters, that reach `limit`."""
    named = names(rows)
    values: dict[str, list[Row]] = {}
    for row in kept:
        if row.mechanism != PLAIN and row.score >= limit:
            values.setdefault(named[key(row), 0], []).append(row)
    return ", ".join(_span(name, found) for name, found in values.items())


def _span(name: str, found: Sequence[Row]) -> str:
    values = sorted({row.value for row in found})
    parameter = found[0].parameter
    if not parameter or not all(map(math.isfinite, values)):
        return name
    if len(values) == 1:
        return f"{name} ({parameter} {values[0]:g})"
    return f"{name} ({parameter} {values[0]:g} to {values[-1]:g})"


def _blind(rows: Sequence[Row]) -> Markup:
    chances: dict[str, float] = {}
    for row in rows:
        if row.kind == "risk" and row.chance is not None and math.isfinite(row.chance):
            chances[row.measure] = max(chances.get(row.measure, 0.0), row.chance)
    if not chances:
        return join("What a blind guess would reach was not measured.")
    ordered = [one for one in MEASURES if one in chances]
    ordered += [one for one in chances if one not in MEASURES]
    told = ", ".join(f"{percent(chances[one])} ({one})" for one in ordered)
    return join(
        "A ", tag("strong", "blind guess"), f" would reach a risk of {told}: what lies above it is"
        " what the variants give away."
    )  # fmt: skip
