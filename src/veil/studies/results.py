"""The tidy table of a study: one row per configuration and measure."""

from dataclasses import dataclass
from typing import Literal

from veil.drawing.markup import Section as Section
from veil.studies import DEFAULT

PLAIN = "plain"  # the mechanism of rows that were measured without any protection
Kind = Literal["risk", "utility", "similarity", "loss", "recovery", "linkage"]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a study, with its uncertainty.

    Attributes
    ----------
    data, task
        Name of the data, and of the user of the release: a classifier, a question.
    mechanism, spec, parameter, value
        Name of the mechanism, its whole spec, the swept parameter, and its value here. All rows of
        a mechanism that differ only in `value` form one curve of the plane.
    size
        Number of releases of each subject.
    kind, measure
        The kind of figure: ``risk`` by an attack and a measure of success (lazy, active,
        motivated, persistent), ``utility``, ``similarity`` (of original and release), ``loss``,
        ``recovery`` (share of subjects, or of their parts, by `size`) or ``linkage`` (success at
        linking releases of the same subject).
    attacker
        Spec of the attack for risk, recovery and linkage, else "".
    score, low, high, n
        The mean over `n` subjects and its 95 % bootstrap interval.
    chance
        Success of a blind guess, for risk, recovery and linkage; otherwise None.
    p_value
        For the utility of the plane, p-value of the paired test against no protection; otherwise
        None.
    upper
        Upper bound of the score with 97.5 % confidence, for risks that subtract a baseline or a
        control. None if the usual bound of a mean holds.
    domain
        The kind of data: a name of `veil.studies.DOMAINS`, or of a plugin's.
    """

    data: str
    task: str
    mechanism: str
    spec: str
    parameter: str
    value: float
    size: int
    kind: Kind
    measure: str
    attacker: str
    score: float
    low: float
    high: float
    n: int
    chance: float | None = None
    p_value: float | None = None
    upper: float | None = None
    domain: str = DEFAULT


@dataclass(frozen=True, slots=True)
class Score:
    """The QuIPU score of one curve of the plane.

    Attributes
    ----------
    measure
        Measure of success: lazy, active or motivated.
    curve, mechanism, spec, parameter
        Name of the curve in the report, its mechanism, the spec without the swept parameter, and
        that parameter.
    score, low, high, n
        The score of the mean curve and its 95 % bootstrap interval over the `n` subjects with
        values at every point.
    points, missing
        Number of points in the score, and of further points in the study.
    behind, behind_low, behind_high
        The best score of the same plane minus this one, with the 95 % interval of the paired
        bootstrap; 0 for the best itself, None for a single point, whose score is meaningless.
    """

    data: str
    task: str
    attacker: str
    measure: str
    curve: str
    mechanism: str
    spec: str
    parameter: str
    size: int
    score: float
    low: float
    high: float
    n: int
    points: int
    missing: int = 0
    behind: float | None = None
    behind_low: float | None = None
    behind_high: float | None = None
    domain: str = DEFAULT

    @property
    def best(self) -> bool:
        """Whether no other score of its plane is higher."""
        return self.behind == 0

    @property
    def alike(self) -> bool:
        """Whether it is not the best, but cannot be distinguished from it."""
        low, high = self.behind_low, self.behind_high
        return not self.best and low is not None and high is not None and low <= 0 <= high


@dataclass(frozen=True, slots=True)
class Example:
    """A subject of the study and some of its releases, which reports show in full."""

    spec: str
    subject: str
    releases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """The guarantee of one configuration: kind, epsilon per unit, total, and limits.

    The total is that of `size` releases of a subject.
    """

    spec: str
    kind: str
    epsilon: float | None
    total: str
    means: str
    caveat: str
    unit: str = "word"
    size: int = 1


@dataclass(frozen=True, slots=True)
class Results:
    """The content of a report.

    `facts` are pairs of a name and a value: the command, versions, the seed, the data, the number
    of cores, and the time. `remarks` (in the summary) and `sections` are specific to the domain.
    `worst` is the highest risk of a single subject, by spec, size and attack, if known. `warnings`
    come before the figures.
    """

    name: str
    rows: tuple[Row, ...]
    examples: tuple[Example, ...] = ()
    cards: tuple[Card, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    scores: tuple[Score, ...] = ()
    domain: str = DEFAULT
    remarks: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    worst: tuple[tuple[str, int, str, float], ...] = ()
    warnings: tuple[str, ...] = ()
