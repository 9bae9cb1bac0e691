"""Three sentences that say what a study found."""

import math
from collections.abc import Sequence

from veil.core.errors import InputError
from veil.studies import DEFAULT
from veil.studies.choose import UncertifiedError, choose
from veil.studies.curves import is_utility
from veil.studies.domains import words_of
from veil.studies.experiment import Vocabulary
from veil.studies.report.markup import Markup, join, number, percent, tag
from veil.studies.table import PLAIN, Row

MAX_RISK = 0.05
_ABLE = ("active", "motivated", "lazy", "persistent")  # those that a bound is given for first


def summary(rows: Sequence[Row], remarks: Sequence[str] = ()) -> list[Markup]:
    """Return the sentences: the best choice, what the domain remarks, and a blind guess."""
    words = words_of(rows[0].domain if rows else DEFAULT)
    return [_best(rows, words), *(join(one) for one in remarks), _blind(rows, words)]


def _best(rows: Sequence[Row], words: Vocabulary) -> Markup:
    measured = {row.measure for row in rows if row.kind == "risk"}
    ordered = [*_ABLE, *(axis.name for axis in reversed(words.risks))]
    attacker = next((one for one in ordered if one in measured), None)
    settings = dict.fromkeys(
        (row.data, row.task) for row in filter(is_utility, rows) if row.mechanism != PLAIN
    )
    if attacker is None or not settings:
        return join("Risk and utility were not both measured, so no configuration can be advised.")
    told = [_choice(rows, attacker, *setting, len(settings) > 1) for setting in settings]
    start = (
        f"The best utility with a risk of at most {percent(MAX_RISK)} with 97.5 % confidence (the"
        f" worst of all attackers; success: {words.axis(attacker).says}): "
    )
    return join(start, *told[:1], *(join("; ", one) for one in told[1:]), ".")


def _choice(rows: Sequence[Row], attacker: str, data: str, task: str, named: bool) -> Markup:
    words = words_of(rows[0].domain)
    where = f" on {data}" + (f" with {task}" if task else "") if named else ""
    doubt = ""
    try:
        choice = choose(rows, max_risk=MAX_RISK, attacker=attacker, data=data, task=task)
    except UncertifiedError as error:
        choice = error.choice
        doubt = "none is certain; by what was measured alone "
    except InputError as error:
        reason = str(error).removeprefix("Nothing fits: ").removesuffix(".")
        return join(tag("strong", "none"), f"{where}; {reason}")
    best = choice.best
    of_plain = ""
    plain = _plain_utility(rows, data, task)
    if plain:
        of_plain = f", {percent(best.utility.score / plain)} of {words.plain}"
    rivals = len(choice.ties) + len(choice.overlapping)
    close = f"; {rivals} more have intervals that overlap" if rivals else ""
    if best.foes:
        close += f"; it did not face {', '.join(best.foes)}, which knows how it works"
    elif best.unfaced:
        close += f"; it did not face {', '.join(best.unfaced)}, as others did"
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
        return join("What a blind guess would reach was not measured.")
    ordered = sorted(chances, key=words.rank)
    told = ", ".join(f"{percent(chances[one])} ({one})" for one in ordered)
    return join(
        "A ", tag("strong", "blind guess"), f" would reach a risk of {told}: what lies above it is"
        f" what the {words.size} give away."
    )  # fmt: skip
