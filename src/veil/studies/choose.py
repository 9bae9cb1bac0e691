"""The configuration with the best utility among those whose risk is low enough."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from veil.core.errors import InputError
from veil.studies._curves import PLAIN, is_utility
from veil.studies.table import Row

Attacker = Literal["lazy", "active", "motivated", "persistent"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration with its utility and its highest risk.

    `risk` is the row of the attack that does best against it, `attacks` all that were tried.
    """

    spec: str
    mechanism: str
    size: int
    utility: Row
    risk: Row
    attacks: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.spec} with {self.size} variants (utility {self.utility.score:.3f}, risk"
            f" {self.risk.score:.3f}, up to {_upper(self.risk):.3f}, by {self.risk.attacker})"
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """The best configuration, and those that the data cannot tell from it.

    `ties` have the same utility, `overlapping` a lower one whose interval overlaps the best one's;
    all of them keep the bound. `refused` counts the configurations that do not.
    """

    best: Candidate
    ties: tuple[Candidate, ...]
    overlapping: tuple[Candidate, ...]
    refused: int

    def __str__(self) -> str:
        rivals = [*self.ties, *self.overlapping]
        if not rivals:
            return f"{self.best}; no other is as good."
        named = ", ".join(rival.spec for rival in rivals)
        return f"{self.best}; the data cannot tell it from {named}."


def choose(
    rows: Iterable[Row],
    *,
    max_risk: float,
    attacker: Attacker,
    cautious: bool = True,
    collection: str | None = None,
    engine: str | None = None,
) -> Choice:
    """Return the mechanism and parameters with the best nDCG@10 among those of bounded risk.

    The risk of a configuration is the highest over all attacks that were tried on it, by one
    measure of success: its mean or, with `cautious`, the upper end of its interval; it must be at
    most `max_risk`. A risk that is not a number keeps no bound. Of equal utilities the lower risk
    wins, then the fewer variants. `collection` and `engine` say which rows to look at when there
    are several: utilities on different collections do not compare.
    """
    if not 0 <= max_risk <= 1:
        raise InputError(f"The highest risk must be a number from 0 to 1. Got {max_risk} instead.")
    wanted = _of_one_setting(rows, collection, engine)

    def level(row: Row) -> float:
        return _upper(row) if cautious else _known(row.score)

    found = _candidates(wanted, attacker, level)
    if not found:
        raise InputError(
            f"No configuration has both a risk by the measure {attacker!r} and an nDCG@10."
        )
    fitting = [one for one in found if level(one.risk) <= max_risk]
    if not fitting:
        nearest = min(found, key=lambda one: (level(one.risk), -one.utility.score))
        raise InputError(
            f"Nothing fits: no configuration keeps the {attacker} attacker's risk at or below"
            f" {max_risk:g}; the nearest is {nearest}."
        )
    fitting.sort(key=lambda one: (-one.utility.score, level(one.risk), one.size, one.spec))
    best, *others = fitting
    ties = tuple(one for one in others if one.utility.score == best.utility.score)
    overlapping = tuple(
        one for one in others if one not in ties and one.utility.high >= best.utility.low
    )
    return Choice(best, ties, overlapping, len(found) - len(fitting))


def pareto(points: Sequence[tuple[float, float]]) -> tuple[int, ...]:
    """Return the places of the points (risk, utility) that no other point beats, by risk.

    A point beats another when it has no more risk and no less utility, and is not the same.
    Points with a number missing are left out.

    >>> pareto([(0.5, 0.6), (0.1, 0.4), (0.4, 0.3), (0.9, 0.6)])
    (1, 0)
    """
    known = [i for i, point in enumerate(points) if all(map(math.isfinite, point))]
    known.sort(key=lambda i: (points[i][0], -points[i][1]))
    kept: list[int] = []
    for i in known:
        if not kept or points[i][1] > points[kept[-1]][1] or points[i] == points[kept[-1]]:
            kept.append(i)
    return tuple(kept)


def _of_one_setting(rows: Iterable[Row], collection: str | None, engine: str | None) -> list[Row]:
    wanted = [
        row
        for row in rows
        if row.mechanism != PLAIN
        and collection in (None, row.collection)
        and (engine is None or row.engine in ("", engine))
    ]
    _require_one("collection", {row.collection for row in wanted})
    _require_one("engine", {row.engine for row in wanted if row.engine})
    return wanted


def _require_one(what: str, found: set[str]) -> None:
    if len(found) > 1:
        raise InputError(f"The table has several of {what}: {', '.join(sorted(found))}; name one.")


def _candidates(
    rows: Sequence[Row], attacker: str, level: Callable[[Row], float]
) -> list[Candidate]:
    risks: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row.kind == "risk" and row.measure == attacker:
            risks.setdefault((row.spec, row.size), []).append(row)
    found = []
    for row in filter(is_utility, rows):
        tried = risks.get((row.spec, row.size))
        if tried and math.isfinite(row.score):
            worst = max(tried, key=level)
            attacks = tuple(dict.fromkeys(one.attacker for one in tried))
            found.append(Candidate(row.spec, row.mechanism, row.size, row, worst, attacks))
    return found


def _known(score: float) -> float:
    return score if math.isfinite(score) else math.inf


def _upper(row: Row) -> float:
    return max(_known(row.score), _known(row.high))
