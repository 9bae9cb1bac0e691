"""Stops of the slider: configurations that may be used and that no other one beats."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from veil.core.errors import VeilError
from veil.cover.universe import BUILT_IN
from veil.measures.bounds import CONFIDENCE
from veil.proxy.types import MAX_SIZE, Setting
from veil.search.study.study import IN_CLEAR
from veil.studies.choose import Candidate, candidates, pareto
from veil.studies.table import Row
from veil.text.mechanisms import find
from veil.text.mechanisms.queries.cover import Cover

BOUND = 0.5  # below it the attacker is wrong more often than right
RULE = (
    "Until it is moved, the slider stands at the most useful stop at which the strongest attacker"
    " of the audit is wrong more often than right, with 97.5 % confidence for each stop by"
    " itself; if there is none, at the most private."
)
_WHOLE = 1e-6  # how far from a whole number the size of a log may come out


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop of the slider: a configuration that no other of the audit beats, with its figures.

    Attributes
    ----------
    setting
        The mechanism and the number of variants.
    risk
        The attack of the audit that does best against it: how often its first guess is right.
    utility
        The nDCG@10 of its results.
    upper
        What the risk is at most, with 97.5 % confidence, under all attacks of the audit. That
        holds for each configuration by itself: of the many that were tried, those that look best
        are stops, and some may owe it to luck.
    warning
        The attackers that others faced and this one did not, or nothing.
    clear
        For what share of the queries one of the variants was the query itself; None if the audit
        does not tell.
    """

    setting: Setting
    risk: Row
    utility: Row
    upper: float
    warning: str
    clear: Row | None = None

    @property
    def measured(self) -> bool:
        """Whether it is of the audit; else its risk is exact, and its utility is not known."""
        return not math.isnan(self.utility.score)

    @property
    def log_size(self) -> int | None:
        """From how many queries the attacker chose; None if it needs no log to restore words."""
        if self.risk.kind != "risk" or not self.risk.chance or not 0 < self.risk.chance <= 1:
            return None
        size = 1 / self.risk.chance
        return round(size) if abs(size - round(size)) <= _WHOLE * size else None

    def __str__(self) -> str:
        size = self.setting.size
        log = f" out of {self.log_size:,}" if self.log_size else ""
        return (
            f"{self.setting.mechanism} with {size} variant{'s' if size > 1 else ''}: the first"
            f" guess of an attacker{log} was the true query for {_percent(self.risk.score)} of"
            f" {self.risk.n} queries, and is for at most {_percent(self.upper, up=True)} of such"
            f" queries with {100 * CONFIDENCE:g} % confidence; the quality of the results was"
            f" {self.utility.score:.2f} of 1 (nDCG@10)."
        )


def stops_of(rows: Sequence[Row], collection: str, engine: str) -> tuple[Stop, ...]:
    """Return the stops of one collection and engine, from the most private to the most useful.

    A configuration that was spared the strongest attacker, which most others faced, is no stop:
    its risk would look low for that reason alone. Of configurations with the same measured risk
    and utility the one of the lowest bound stays, then the one of fewer variants.
    """
    found = candidates(rows, attacker="lazy", data=collection, task=engine)
    usable = sorted(
        _comparable([one for one in found if _usable(one)]),
        key=lambda one: (one.upper, one.size, one.spec),
    )
    points = [(one.risk.score, one.utility.score) for one in usable]
    first = dict.fromkeys(points[i] for i in pareto(points))
    chosen = [usable[points.index(point)] for point in first]
    clear = {
        (row.spec, row.size): row
        for row in rows
        if row.measure == IN_CLEAR and row.data == collection
    }
    guessing = {row.attacker for row in rows if row.kind == "risk"}  # they have a log
    return tuple(
        Stop(
            Setting(one.spec, one.size),
            replace(one.risk, kind="risk") if one.risk.attacker in guessing else one.risk,
            one.utility,
            one.upper,
            one.warning,
            clear.get((one.spec, one.size)),
        )
        for one in chosen
    )


def start(stops: Sequence[Stop]) -> int:
    """Return the place of the stop to start with: see `RULE`."""
    return max((i for i, stop in enumerate(stops) if stop.upper < BOUND), default=0)


def _comparable(found: Sequence[Candidate]) -> list[Candidate]:
    """Leave out what was spared the attacker that mostly wins where several were tried."""
    best = Counter(one.risk.attacker for one in found if len(one.attacks) > 1)
    strongest = {name for name, _ in best.most_common(1)}
    faced = [one for one in found if strongest <= set(one.attacks)]
    return faced if 2 * len(faced) > len(found) else list(found)


def _usable(one: Candidate) -> bool:
    """Whether a configuration can be used now, its risk is known, and something is proved."""
    if not (1 <= one.size <= MAX_SIZE and math.isfinite(one.upper)):
        return False
    try:
        mechanism = find.mechanism(one.spec)
        guarantee = mechanism.guarantee
    except VeilError:  # a plugin that is gone, a parameter that has another range now
        return False
    if isinstance(mechanism, Cover):  # a table that can be built, or is there
        return mechanism.table in BUILT_IN or math.isfinite(guarantee.bits)
    return guarantee.kind != "none" and math.isfinite(guarantee.epsilon)


def _percent(share: float, *, up: bool = False) -> str:
    """Write a share with one decimal, `up` never below it."""
    shown = math.ceil(share * 1000 - 1e-9) if up else round(share * 1000)
    return f"{shown / 10:g} %"
