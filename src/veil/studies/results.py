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
        Name of the data, and who used the release: a classifier, a question.
    mechanism, spec, parameter, value
        Name of the mechanism, its whole spec, the parameter that is swept, and its value here. All
        rows of one mechanism that differ in `value` alone are one curve of the plane.
    size
        Number of releases of each subject.
    kind, measure
        What was measured: ``risk`` by an attacker and a measure of success (lazy, active,
        motivated, persistent), ``utility``, ``similarity`` (how alike original and release are),
        ``loss``, ``recovery`` (share of subjects, or of their parts, by `size`) or ``linkage``
        (how well releases are told from others').
    attacker
        Spec of the attacker for risk, recovery and linkage, else "".
    score, low, high, n
        The mean over `n` subjects and its 95 % bootstrap interval.
    chance
        What a blind guess would reach, for risk, recovery and linkage; else None.
    p_value
        For the utility of the plane: of the paired test against no protection; else None.
    upper
        What the score is at most with 97.5 % confidence, for risks that subtract a baseline or a
        control. None where the bound of a mean holds.
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
        By which the attacker's success is counted: lazy, active or motivated.
    curve, mechanism, spec, parameter
        Name of the curve in the report, its mechanism, the spec without the swept parameter, and
        that parameter.
    score, low, high, n
        The score of the mean curve and its 95 % bootstrap interval over the `n` subjects that are
        known at every point.
    points, missing
        How many points it is computed from, and how many more the study has.
    behind, behind_low, behind_high
        The best score of the same plane minus this one, with the 95 % interval of the paired
        bootstrap; 0 for the best itself, None for a single point, whose score says nothing.
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
        """Whether no other of its plane has a higher score."""
        return self.behind == 0

    @property
    def alike(self) -> bool:
        """Whether it is not the best, but cannot be told from it."""
        low, high = self.behind_low, self.behind_high
        return not self.best and low is not None and high is not None and low <= 0 <= high


@dataclass(frozen=True, slots=True)
class Example:
    """A subject of the study and some of its releases; studies are made of public data."""

    spec: str
    subject: str
    releases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """What is claimed of one configuration: kind, epsilon per unit, total, and the caveat.

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
    """Everything that a report shows.

    `facts` are pairs of a name and a value: the command, versions, the seed, the data, the
    machine's number of cores, and the time it took. `remarks` are sentences of the summary, and
    `sections` parts of the report, that only the domain of the study has. `worst` is the highest
    risk of a single subject, by spec, size and attacker, where that is known. `warnings` are what
    a reader must know before the figures.
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
