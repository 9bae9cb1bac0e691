"""Choose the configuration with the best utility under a bound on the risk."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from veil.core.errors import InputError
from veil.core.registry import unknown_name
from veil.measures.bounds import CONFIDENCE, cases_needed, upper_bound
from veil.studies import DEFAULT
from veil.studies.domains import mechanism_class, vocabulary
from veil.studies.experiment import Axis
from veil.studies.panels import is_utility
from veil.studies.results import PLAIN, Row, Score

_NAMED = 5  # rivals listed in a sentence


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration with its utility and its highest risk.

    Attributes
    ----------
    risk
        The row of the most successful attack on it.
    upper, n
        The upper bound of the risk under all attacks, with 97.5 % confidence, and the number of
        subjects.
    attacks, unfaced
        The attacks that were tried on it, and those that were tried only on others.
    foes
        The attacks that its mechanism declares to know it, but that were not tried on it.
    """

    spec: str
    mechanism: str
    size: int
    utility: Row
    risk: Row
    upper: float
    n: int
    attacks: tuple[str, ...]
    unfaced: tuple[str, ...]
    foes: tuple[str, ...] = ()

    def __str__(self) -> str:
        many = vocabulary(self.risk.domain).sizes(self.size)
        return (
            f"{self.spec} with {many}: utility {self.utility.score:.3f}, risk"
            f" {self.risk.score:.3f} by {self.risk.attacker}, at most {_rounded_up(self.upper)}"
            f" with {100 * CONFIDENCE:g} % confidence (n = {self.n})"
        )

    @property
    def warning(self) -> str:
        """Warning about attacks that were not tried on it, or an empty string."""
        if self.foes:
            return (
                f"Attacks that know how {self.spec} works were not tried on it:"
                f" {', '.join(self.foes)}. Its risk may look lower only for that reason."
            )
        if not self.unfaced:
            return ""
        return (
            f"Attacks that were tried on others were not tried on {self.spec}:"
            f" {', '.join(self.unfaced)}. Its risk may look lower only for that reason. Not every"
            " attack applies to every mechanism."
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """The best configuration, and those close to it.

    `ties` have the same utility. `overlapping` have a lower utility whose 95 % interval overlaps
    that of the best, which does not show that they are equally good. All are within the bound, by
    the requested criterion; `certified` is whether the best is with 97.5 % confidence. `refused`
    is the number of configurations above the bound.
    """

    best: Candidate
    ties: tuple[Candidate, ...]
    overlapping: tuple[Candidate, ...]
    refused: int
    certified: bool

    def __str__(self) -> str:
        summary = f"{self.best}." if self.certified else f"Not certified: {self.best}."
        if self.ties:
            summary += f" The same utility: {_listed(self.ties)}."
        if self.overlapping:
            summary += f" Lower, with intervals that overlap: {_listed(self.overlapping)}."
        return summary


class UncertifiedError(InputError):
    """Some measured risks are within the bound, but none is certified to be.

    `choice` is the best of these configurations.
    """

    def __init__(self, message: str, choice: Choice) -> None:
        super().__init__(message)
        self.choice = choice


def describe_nearest(rivals: Sequence[Candidate], max_risk: float, top: float) -> str:
    """Return the configuration with the lowest risk and the size that certifying it needs."""
    if not rivals:
        return "no risk is known"
    best = min(rivals, key=lambda rival: (rival.risk.score, rival.upper, -rival.utility.score))
    least, many = cases_needed(max_risk, top=top), vocabulary(best.risk.domain).subjects
    if least is None or max(rival.n for rival in rivals) >= least:
        return f"the nearest is {best}"
    return f"the nearest is {best}; certifying it would need at least {least:,} {many}"


def describe_shortfall(
    best: Candidate, rivals: Sequence[Candidate], max_risk: float, top: float
) -> str:
    """Return why not even the best is certified to be within a bound; `top` is the worst risk."""
    many = vocabulary(best.risk.domain).subjects
    least, most = cases_needed(max_risk, top=top), max(rival.n for rival in rivals)
    if least is not None and most < least:
        return (
            f"the study is too small: it has {most:,} {many}, and at least {least:,} are needed"
            " even if none is guessed"
        )
    enough = cases_needed(max_risk, mean=best.risk.score, top=top)
    if enough is None:
        return f"no number of {many} certifies a bound that equals the measured risk"
    if enough <= best.n:  # its bound is that of a difference, which needs more
        return f"with {best.n:,} {many} its risk may be up to {_rounded_up(best.upper)}"
    return f"at the measured risk, about {enough:,} {many} are needed, and there are {best.n:,}"


def _rounded_up(bound: float) -> str:
    """Return the bound rounded up to three decimals."""
    return f"{math.ceil(bound * 1000 - 1e-9) / 1000:.3f}"


def _listed(rivals: Sequence[Candidate]) -> str:
    names = ", ".join(rival.spec for rival in rivals[:_NAMED])
    more = len(rivals) - _NAMED
    return f"{names} and {more} more" if more > 0 else names


def choose(
    rows: Iterable[Row],
    *,
    max_risk: float,
    attacker: str,
    cautious: bool = True,
    data: str | None = None,
    task: str | None = None,
) -> Choice:
    """Return the mechanism and parameters with the best utility under a bound on the risk.

    The risk of a configuration is the highest over all attacks tried on it, by one measure of
    success. Its upper bound with 97.5 % confidence must not exceed `max_risk`; without
    `cautious`, the measured risk must not. Of equal utilities the lower risk wins, then fewer
    releases. `data` and `task` select the rows if there are several: utilities on different data
    are not comparable.

    Raises
    ------
    UncertifiedError
        If some measured risks are within the bound, but none is certified to be.

    Notes
    -----
    The confidence is that of `veil.measures.bounds.upper_bound`, for subjects like those of the
    study and for each configuration separately: among many, some may be certified by luck. A
    subject whose parts are all restored counts as guessed at once. Attacks with another goal do
    not count, as the domain declares: linking releases, combining several of them, or choosing
    among a few suspects. A risk that is not a number or is out of range is not within any bound.
    """
    rows = tuple(rows)
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    measures = tuple(axis.name for axis in words.risks)
    if attacker not in measures:
        raise unknown_name("measure of risk", attacker, measures)
    top = words.axis(attacker).top
    _check_bound(max_risk, attacker, top)
    rivals = candidates(rows, attacker=attacker, data=data, task=task)
    if not rivals:
        raise InputError(
            f"No configuration has both a risk by the measure {attacker!r} and"
            f" {_a(words.utility.name)}."
        )
    goal = f"the {attacker} attacker's risk at or below {max_risk:g}"
    bounded = [rival for rival in rivals if math.isfinite(rival.upper)]
    measured = [rival for rival in bounded if rival.risk.score <= max_risk]
    certain = [rival for rival in bounded if rival.upper <= max_risk]
    if not measured:
        nearest = describe_nearest(bounded, max_risk, top)
        raise InputError(f"No configuration keeps {goal}: {nearest}.")
    if certain or not cautious:
        return _choice(certain if cautious else measured, len(rivals), max_risk)
    choice = _choice(measured, len(rivals), max_risk)
    why = describe_shortfall(choice.best, bounded, max_risk, top)
    raise UncertifiedError(f"No configuration is certified to keep {goal}: {why}.", choice)


BLIND = "blind"  # the point of every plane that reveals nothing to any attacker
_SHORT = 0.1  # length along the diagonal up to which a curve has next to no area


def cautions(rows: Sequence[Row], scores: Sequence[Score]) -> Iterator[str]:
    """Yield warnings for readers of the figures: attacks not tried, and misleading scores."""
    tried: dict[str, list[str]] = {}
    for row in rows:
        if row.mechanism != PLAIN:
            names = tried.setdefault(row.mechanism, [])
            names += [row.attacker] if row.kind in ("risk", "recovery") else []
    if tried and not any(tried.values()):
        yield (
            "No attack was tried: the figures show only utility, and nothing about what could be"
            " inferred."
        )
        return
    spared: dict[tuple[str, ...], list[str]] = {}
    for name, attacks in tried.items():
        informed = () if name == BLIND else _unfaced(rows[0].domain, name, attacks)
        if informed:
            spared.setdefault(informed, []).append(name)
    for informed, names in spared.items():
        yield (
            f"Attacks that know the mechanism were not tried on {', '.join(names)}:"
            f" {', '.join(informed)}. The risk may look lower only for that reason."
        )
    flat = dict.fromkeys(score.curve for score in scores if _is_short(rows, score))
    if flat:
        yield (
            f"The QuIPU score of {', '.join(flat)} is near 0 because its points are close"
            " together, not because they are worse than others. Compare the utility at a risk that"
            " you accept, as 'veil choose' does."
        )


def _is_short(rows: Sequence[Row], score: Score) -> bool:
    """Return whether all points of a curve are close together, useful and at little risk."""
    points = [
        row for row in rows
        if row.spec.partition("(")[0] == score.mechanism and row.size == score.size
        and (row.task in ("", score.task) and row.data == score.data)
    ]  # fmt: skip
    risks = [row.score for row in points if row.kind == "risk"
             and (row.attacker, row.measure) == (score.attacker, score.measure)]  # fmt: skip
    useful = [row.score for row in points if is_utility(row)]
    if score.points < 2 or not risks or not useful or not all(map(math.isfinite, risks + useful)):
        return False
    along = max(risks) - min(risks) + max(useful) - min(useful)
    return along <= _SHORT and min(useful) - max(risks) > _SHORT


def candidates(
    rows: Iterable[Row],
    *,
    attacker: str,
    data: str | None = None,
    task: str | None = None,
) -> list[Candidate]:
    """Return each configuration that has a utility, with the most successful attack on it.

    See `choose` for how attacks count. The `upper` of an unknown risk is infinite.
    """
    selection = _of_one_setting(tuple(rows), data, task)
    words = vocabulary(selection[0].domain if selection else DEFAULT)
    return _candidates(selection, words.axis(attacker), words.subjects)


def pareto(points: Sequence[tuple[float, float]]) -> tuple[int, ...]:
    """Return the indices of the points (risk, utility) that no other point beats, by risk.

    A point beats another if it has no more risk and no less utility, and differs from it. Points
    with a missing number are excluded.

    >>> pareto([(0.5, 0.6), (0.1, 0.4), (0.4, 0.3), (0.9, 0.6)])
    (1, 0)
    """
    finite = [i for i, point in enumerate(points) if all(map(math.isfinite, point))]
    finite.sort(key=lambda i: (points[i][0], -points[i][1]))
    front: list[int] = []
    for i in finite:
        if not front or points[i][1] > points[front[-1]][1] or points[i] == points[front[-1]]:
            front.append(i)
    return tuple(front)


def _a(name: str) -> str:
    return f"an {name}" if name[:1] in "aeinoAEIO" else f"a {name}"


def _check_bound(max_risk: float, attacker: str, top: float) -> None:
    if not 0 <= max_risk <= 1:
        raise InputError(f"The highest risk must be a number from 0 to 1. Got {max_risk} instead.")
    if top < 1 and max_risk >= top:
        raise InputError(
            f"The {attacker} attacker's risk is never above {top:g}, so a bound of {max_risk:g}"
            f" would accept everything. Use a bound below {top:g}."
        )


def _of_one_setting(rows: Sequence[Row], data: str | None, task: str | None) -> list[Row]:
    if not rows:
        raise InputError("The table of the report is empty. Run 'veil audit' again.")
    _require_one("domain", {row.domain for row in rows})
    words = vocabulary(rows[0].domain)
    _require(words.data, data, {row.data for row in rows})
    _require(words.task, task, {row.task for row in rows if row.task})
    selection = [
        row
        for row in rows
        if row.mechanism != PLAIN
        and data in (None, row.data)
        and (task is None or row.task in ("", task))
    ]
    _require_one(words.data, {row.data for row in selection})
    _require_one(words.task, {row.task for row in selection if row.task})
    return selection


def _require(what: str, name: str | None, names: set[str]) -> None:
    if name and name not in names:
        listed = ", ".join(sorted(names)) or "none"
        raise InputError(f"The table has no such {what}. Available: {listed}.")


def _require_one(what: str, names: set[str]) -> None:
    if len(names) > 1:
        raise InputError(
            f"The table has several values of {what}. Choose one: {', '.join(sorted(names))}."
        )


def _candidates(rows: Sequence[Row], axis: Axis, subjects: str) -> list[Candidate]:
    risks: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if attack := _attack(row, axis, subjects):
            risks.setdefault((row.spec, row.size), []).append(attack)
    everyone = dict.fromkeys(row.attacker for attacks in risks.values() for row in attacks)

    def bound(row: Row) -> float:
        return _bound(row, axis)

    def level(row: Row) -> tuple[float, float]:
        return (row.score if bound(row) < math.inf else math.inf, bound(row))

    rivals = []
    for row in filter(is_utility, rows):
        tried = risks.get((row.spec, row.size), [])
        counted = any(attack.kind == "risk" or axis.name == "lazy" for attack in tried)
        if counted and math.isfinite(row.score):
            worst = max(tried, key=level)
            limit = max(tried, key=bound)
            attacks = tuple(dict.fromkeys(attack.attacker for attack in tried))
            unfaced = tuple(attacker for attacker in everyone if attacker not in attacks)
            informed = _unfaced(row.domain, row.mechanism, attacks)
            rivals.append(
                Candidate(row.spec, row.mechanism, row.size, row, worst, bound(limit), limit.n,
                          attacks, unfaced, informed)
            )  # fmt: skip
    return rivals


def _unfaced(kind: str, mechanism: str, attacks: Sequence[str]) -> tuple[str, ...]:
    """Return the attackers that a mechanism declares to know it, but that were not tried on it."""
    faced = {_name(attacker) for attacker in attacks}
    declared: tuple[str, ...] = getattr(mechanism_class(kind, mechanism), "foes", ())
    return tuple(attacker for attacker in declared if attacker not in faced)


def _name(spec: str) -> str:
    return spec.partition("(")[0].strip()


def _attack(row: Row, axis: Axis, subjects: str) -> Row | None:
    """Return the risk of a subject in a row, by the measure of `axis`, or None.

    For an attack that restores parts, only the first guess is known, which is a lower bound.
    """
    if _name(row.attacker) in vocabulary(row.domain).apart:
        return None
    if row.kind == "risk" and row.measure == axis.name:
        return row
    if row.kind == "recovery" and row.measure == subjects:
        score, low, high = (axis.top * figure for figure in (row.score, row.low, row.high))
        upper = None if row.upper is None else axis.top * row.upper
        return replace(row, measure=axis.name, score=score, low=low, high=high, upper=upper)
    return None


def _bound(row: Row, axis: Axis) -> float:
    """Return the upper confidence bound of the risk, or infinity if it is unknown."""
    if row.n < 1 or not 0 <= row.score <= axis.top * (1 + 1e-9):
        return math.inf
    if row.upper is not None:
        return max(row.score, row.upper) if math.isfinite(row.upper) else math.inf
    binary = row.kind == "recovery" or axis.binary
    return upper_bound(row.score, row.n, top=axis.top, binary=binary)


def _choice(fitting: list[Candidate], of: int, max_risk: float) -> Choice:
    best, *others = sorted(
        fitting,
        key=lambda rival: (
            -rival.utility.score,
            rival.risk.score,
            rival.upper,
            rival.size,
            rival.spec,
        ),
    )
    ties = tuple(rival for rival in others if rival.utility.score == best.utility.score)
    overlapping = tuple(
        rival for rival in others if rival not in ties and rival.utility.high >= best.utility.low
    )
    return Choice(best, ties, overlapping, of - len(fitting), best.upper <= max_risk)
