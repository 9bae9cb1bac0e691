"""What is chosen, and how it is told."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veil.core.errors import InputError
from veil.measures.bounds import CONFIDENCE, cases_needed
from veil.studies.domains import words_of
from veil.studies.table import Row

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
        many = words_of(self.risk.domain).sizes(self.size)
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


def nearest(known: Sequence[Candidate], max_risk: float, top: float) -> str:
    """Name the configuration of the lowest risk, and what it takes to certify the bound."""
    if not known:
        return "no risk is known"
    best = min(known, key=lambda one: (one.risk.score, one.upper, -one.utility.score))
    least, many = cases_needed(max_risk, top=top), words_of(best.risk.domain).subjects
    if least is None or max(one.n for one in known) >= least:
        return f"the nearest is {best}"
    return f"the nearest is {best}; to certify it would take at least {least:,} {many}"


def shortfall(best: Candidate, known: Sequence[Candidate], max_risk: float, top: float) -> str:
    """Say why not even the best is certified to keep a bound, where `top` is the worst risk."""
    many = words_of(best.risk.domain).subjects
    least, most = cases_needed(max_risk, top=top), max(one.n for one in known)
    if least is not None and most < least:
        return (
            f"the study is too small, as it has {most:,} {many} and at least {least:,} are needed"
            " even if none is guessed"
        )
    enough = cases_needed(max_risk, mean=best.risk.score, top=top)
    if enough is None:
        return f"no number of {many} certifies a bound that equals the measured risk"
    return f"at the measured risk it takes about {enough:,} {many}, and there are {best.n:,}"


def _rounded_up(bound: float) -> str:
    """Return three decimals that are not below the bound."""
    return f"{math.ceil(bound * 1000 - 1e-9) / 1000:.3f}"


def _listed(rivals: Sequence[Candidate]) -> str:
    named = ", ".join(rival.spec for rival in rivals[:_NAMED])
    more = len(rivals) - _NAMED
    return f"{named} and {more} more" if more > 0 else named
