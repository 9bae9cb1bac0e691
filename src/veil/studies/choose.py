"""The configuration with the best utility among those whose risk is low enough."""

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

_NAMED = 5  # rivals that a sentence names


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration with its utility and its highest risk.

    Attributes
    ----------
    risk
        The row of the attack that does best against it.
    upper, n
        What the risk is at most, with 97.5 % confidence, under all attacks; over how many
        subjects.
    attacks, unfaced
        The attackers that were tried on it, and those that were tried on others alone.
    foes
        The attackers that know how its mechanism works, as that declares, and that it was spared.
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
        """Say which attackers it was spared, or nothing."""
        if self.foes:
            return (
                f"{self.spec} did not face {', '.join(self.foes)}, which knows how it works: its"
                " risk may look lower for that reason alone."
            )
        if not self.unfaced:
            return ""
        return (
            f"{self.spec} did not face {', '.join(self.unfaced)}, which others did: its risk may"
            " look lower for that reason alone. Not every attacker can be used against every"
            " mechanism."
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """The best configuration, and those that come near it.

    `ties` have the same utility, `overlapping` a lower one whose 95 % interval overlaps the best
    one's; that does not show that the two are equally good. All of them keep the bound in the way
    it was asked for; `certified` says whether the best one does so with 97.5 % confidence.
    `refused` counts those that do not keep it.
    """

    best: Candidate
    ties: tuple[Candidate, ...]
    overlapping: tuple[Candidate, ...]
    refused: int
    certified: bool

    def __str__(self) -> str:
        told = f"{self.best}." if self.certified else f"Not certified: {self.best}."
        if self.ties:
            told += f" The same utility: {_listed(self.ties)}."
        if self.overlapping:
            told += f" Lower, with intervals that overlap: {_listed(self.overlapping)}."
        return told


class UncertifiedError(InputError):
    """By what was measured some configurations keep the bound, but none is certified to keep it.

    `choice` is made among those.
    """

    def __init__(self, message: str, choice: Choice) -> None:
        super().__init__(message)
        self.choice = choice


def describe_nearest(known: Sequence[Candidate], max_risk: float, top: float) -> str:
    """Name the configuration of the lowest risk, and what it takes to certify the bound."""
    if not known:
        return "no risk is known"
    best = min(known, key=lambda one: (one.risk.score, one.upper, -one.utility.score))
    least, many = cases_needed(max_risk, top=top), vocabulary(best.risk.domain).subjects
    if least is None or max(one.n for one in known) >= least:
        return f"the nearest is {best}"
    return f"the nearest is {best}; to certify it would take at least {least:,} {many}"


def describe_shortfall(
    best: Candidate, known: Sequence[Candidate], max_risk: float, top: float
) -> str:
    """Say why not even the best is certified to keep a bound, where `top` is the worst risk."""
    many = vocabulary(best.risk.domain).subjects
    least, most = cases_needed(max_risk, top=top), max(one.n for one in known)
    if least is not None and most < least:
        return (
            f"the study is too small, as it has {most:,} {many} and at least {least:,} are needed"
            " even if none is guessed"
        )
    enough = cases_needed(max_risk, mean=best.risk.score, top=top)
    if enough is None:
        return f"no number of {many} certifies a bound that equals the measured risk"
    if enough <= best.n:  # its bound is that of a difference, which needs more
        return f"with {best.n:,} {many} its risk may be up to {_rounded_up(best.upper)}"
    return f"at the measured risk it takes about {enough:,} {many}, and there are {best.n:,}"


def _rounded_up(bound: float) -> str:
    """Return three decimals that are not below the bound."""
    return f"{math.ceil(bound * 1000 - 1e-9) / 1000:.3f}"


def _listed(rivals: Sequence[Candidate]) -> str:
    named = ", ".join(rival.spec for rival in rivals[:_NAMED])
    more = len(rivals) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def choose(
    rows: Iterable[Row],
    *,
    max_risk: float,
    attacker: str,
    cautious: bool = True,
    data: str | None = None,
    task: str | None = None,
) -> Choice:
    """Return the mechanism and parameters with the best utility among those of bounded risk.

    The risk of a configuration is the highest over all attacks that were tried on it, by one
    measure of success. What it is at most with 97.5 % confidence must not exceed `max_risk`;
    without `cautious`, what was measured. Of equal utilities the lower risk wins, then the fewer
    releases. `data` and `task` say which rows to look at when there are several: utilities on
    different data do not compare.

    Raises
    ------
    UncertifiedError
        If some configurations keep the bound by what was measured, but none is certified to.

    Notes
    -----
    The confidence is that of `veil.measures.bounds.upper_bound`, for subjects like those of the
    study and for each configuration by itself: of many that are tried, some may owe it to luck.
    A subject whose parts are all restored counts as guessed at once. Attackers that are asked
    something else do not count, as the domain declares: which releases belong together, what
    several of them tell, or which of a few suspects it is. A risk that is not a number, or out of
    its range, keeps no bound.
    """
    rows = tuple(rows)
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    measures = tuple(axis.name for axis in words.risks)
    if attacker not in measures:
        raise unknown_name("measure of risk", attacker, measures)
    top = words.axis(attacker).top
    _check_bound(max_risk, attacker, top)
    found = candidates(rows, attacker=attacker, data=data, task=task)
    if not found:
        raise InputError(
            f"No configuration has both a risk by the measure {attacker!r} and"
            f" {_a(words.utility.name)}."
        )
    goal = f"the {attacker} attacker's risk at or below {max_risk:g}"
    known = [one for one in found if math.isfinite(one.upper)]
    measured = [one for one in known if one.risk.score <= max_risk]
    certain = [one for one in known if one.upper <= max_risk]
    if not measured:
        told = describe_nearest(known, max_risk, top)
        raise InputError(f"Nothing fits: no configuration keeps {goal}; {told}.")
    if certain or not cautious:
        return _choice(certain if cautious else measured, len(found), max_risk)
    choice = _choice(measured, len(found), max_risk)
    why = describe_shortfall(choice.best, known, max_risk, top)
    raise UncertifiedError(f"Nothing is certified to keep {goal}: {why}.", choice)


BLIND = "blind"  # the point of every plane that nothing is learnt from, whoever attacks
_SHORT = 0.1  # length along the diagonal up to which a curve has next to no area


def cautions(rows: Sequence[Row], scores: Sequence[Score]) -> Iterator[str]:
    """Yield what a reader of figures must know first: who did not attack, and what scores lack."""
    tried: dict[str, list[str]] = {}
    for row in rows:
        if row.mechanism != PLAIN:
            names = tried.setdefault(row.mechanism, [])
            names += [row.attacker] if row.kind in ("risk", "recovery") else []
    if tried and not any(tried.values()):
        yield (
            "No attacker was tried: what is shown is utility alone, and says nothing of what"
            " could be inferred."
        )
        return
    spared: dict[tuple[str, ...], list[str]] = {}
    for name, attacks in tried.items():
        foes = () if name == BLIND else _unfaced(rows[0].domain, name, attacks)
        if foes:
            spared.setdefault(foes, []).append(name)
    for foes, names in spared.items():
        yield (
            f"{', '.join(names)} did not face {', '.join(foes)}, which know how they work: their"
            " risk may look lower for that reason alone."
        )
    flat = dict.fromkeys(score.curve for score in scores if _is_short(rows, score))
    if flat:
        yield (
            f"The QuIPU score of {', '.join(flat)} is near 0 because its points lie close"
            " together, and not because they are worse than others: compare the utility at a risk"
            " that you accept, as 'veil choose' does."
        )


def _is_short(rows: Sequence[Row], score: Score) -> bool:
    """Whether all points of a curve are useful at little risk and close together."""
    found = [
        row for row in rows
        if row.spec.partition("(")[0] == score.mechanism and row.size == score.size
        and (row.task in ("", score.task) and row.data == score.data)
    ]  # fmt: skip
    risks = [row.score for row in found if row.kind == "risk"
             and (row.attacker, row.measure) == (score.attacker, score.measure)]  # fmt: skip
    useful = [row.score for row in found if is_utility(row)]
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
    """Return each configuration that has a utility, with the attack that does best against it.

    See `choose` for how attacks count. A risk that is not known has an infinite `upper`.
    """
    chosen = _of_one_setting(tuple(rows), data, task)
    words = vocabulary(chosen[0].domain if chosen else DEFAULT)
    return _candidates(chosen, words.axis(attacker), words.subjects)


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


def _a(name: str) -> str:
    return f"an {name}" if name[:1] in "aeinoAEIO" else f"a {name}"


def _check_bound(max_risk: float, attacker: str, top: float) -> None:
    if not 0 <= max_risk <= 1:
        raise InputError(f"The highest risk must be a number from 0 to 1. Got {max_risk} instead.")
    if top < 1 and max_risk >= top:
        raise InputError(
            f"The {attacker} attacker's risk is never above {top:g}, so that a bound of"
            f" {max_risk:g} would accept everything; give one below {top:g}."
        )


def _of_one_setting(rows: Sequence[Row], data: str | None, task: str | None) -> list[Row]:
    if not rows:
        raise InputError("The table of the audit is empty; run 'veil audit' again.")
    _require_one("domain", {row.domain for row in rows})
    words = vocabulary(rows[0].domain)
    _require(words.data, data, {row.data for row in rows})
    _require(words.task, task, {row.task for row in rows if row.task})
    wanted = [
        row
        for row in rows
        if row.mechanism != PLAIN
        and data in (None, row.data)
        and (task is None or row.task in ("", task))
    ]
    _require_one(words.data, {row.data for row in wanted})
    _require_one(words.task, {row.task for row in wanted if row.task})
    return wanted


def _require(what: str, name: str | None, known: set[str]) -> None:
    if name and name not in known:
        told = ", ".join(sorted(known)) or "none"
        raise InputError(f"The table has no such {what}. Known: {told}.")


def _require_one(what: str, found: set[str]) -> None:
    if len(found) > 1:
        raise InputError(f"The table has several of {what}: {', '.join(sorted(found))}; name one.")


def _candidates(rows: Sequence[Row], axis: Axis, subjects: str) -> list[Candidate]:
    risks: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if attack := _attack(row, axis, subjects):
            risks.setdefault((row.spec, row.size), []).append(attack)
    everyone = dict.fromkeys(row.attacker for tried in risks.values() for row in tried)

    def bound(row: Row) -> float:
        return _bound(row, axis)

    def level(row: Row) -> tuple[float, float]:
        return (row.score if bound(row) < math.inf else math.inf, bound(row))

    found = []
    for row in filter(is_utility, rows):
        tried = risks.get((row.spec, row.size), [])
        counted = any(one.kind == "risk" or axis.name == "lazy" for one in tried)
        if counted and math.isfinite(row.score):
            worst = max(tried, key=level)
            limit = max(tried, key=bound)
            attacks = tuple(dict.fromkeys(one.attacker for one in tried))
            unfaced = tuple(one for one in everyone if one not in attacks)
            found.append(
                Candidate(row.spec, row.mechanism, row.size, row, worst, bound(limit), limit.n,
                          attacks, unfaced, _foes(row, attacks))
            )  # fmt: skip
    return found


def _foes(row: Row, attacks: Sequence[str]) -> tuple[str, ...]:
    return _unfaced(row.domain, row.mechanism, attacks)


def _unfaced(kind: str, mechanism: str, attacks: Sequence[str]) -> tuple[str, ...]:
    """Return the attackers that know how a mechanism works, as that declares, but did not try."""
    faced = {_name(one) for one in attacks}
    declared: tuple[str, ...] = getattr(mechanism_class(kind, mechanism), "foes", ())
    return tuple(one for one in declared if one not in faced)


def _name(spec: str) -> str:
    return spec.partition("(")[0].strip()


def _attack(row: Row, axis: Axis, subjects: str) -> Row | None:
    """Return what a row says about the risk of a subject, by the measure asked for, if anything.

    Of an attacker that restores parts nothing but its first guess is known: a lower bound.
    """
    if _name(row.attacker) in vocabulary(row.domain).apart:
        return None
    if row.kind == "risk" and row.measure == axis.name:
        return row
    if row.kind == "recovery" and row.measure == subjects:
        score, low, high = (axis.top * one for one in (row.score, row.low, row.high))
        upper = None if row.upper is None else axis.top * row.upper
        return replace(row, measure=axis.name, score=score, low=low, high=high, upper=upper)
    return None


def _bound(row: Row, axis: Axis) -> float:
    """Return what the risk is at most, with confidence; infinity where it is not known."""
    if row.n < 1 or not 0 <= row.score <= axis.top * (1 + 1e-9):
        return math.inf
    if row.upper is not None:
        return max(row.score, row.upper) if math.isfinite(row.upper) else math.inf
    binary = row.kind == "recovery" or axis.binary
    return upper_bound(row.score, row.n, top=axis.top, binary=binary)


def _choice(fitting: list[Candidate], of: int, max_risk: float) -> Choice:
    best, *others = sorted(
        fitting,
        key=lambda one: (-one.utility.score, one.risk.score, one.upper, one.size, one.spec),
    )
    ties = tuple(one for one in others if one.utility.score == best.utility.score)
    overlapping = tuple(
        one for one in others if one not in ties and one.utility.high >= best.utility.low
    )
    return Choice(best, ties, overlapping, of - len(fitting), best.upper <= max_risk)
