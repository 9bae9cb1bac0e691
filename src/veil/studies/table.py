"""The tidy table of a study: one row per configuration and measure."""

from dataclasses import dataclass, field
from typing import Literal

IN_CLEAR = "in clear"  # share of queries one of whose variants is the query itself
Kind = Literal["risk", "utility", "similarity", "recovery", "linkage"]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a study, with its uncertainty.

    Attributes
    ----------
    mechanism, spec, parameter, value
        Name of the mechanism, its whole spec, the parameter that is swept, and its value here. All
        rows of one mechanism that differ in `value` alone are one curve of the plane.
    size
        Number of variants of each query.
    kind, measure
        What was measured: ``risk`` by an attacker and a measure of success (lazy, active,
        motivated, persistent), ``utility`` (nDCG@10, pooled recall, recall@100), ``similarity``
        (jaccard, cosine, bleu, meteor, N_w, S_w, in clear), ``recovery`` (share of words or
        queries, by `size`) or ``linkage`` (how well releases are told from others').
    attacker
        Spec of the attacker for risk, recovery and linkage, else "".
    score, low, high, n
        The mean over `n` queries and its 95 % bootstrap interval.
    chance
        What a blind guess would reach, for risk, recovery and linkage; else None.
    p_value
        For the nDCG@10 of a configuration: of the paired test against plain search; else None.
    """

    collection: str
    engine: str
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
        The score of the mean curve and its 95 % bootstrap interval over the `n` queries that are
        known at every point.
    points, missing
        How many points it is computed from, and how many more the study has.
    behind, behind_low, behind_high
        The best score of the same plane minus this one, with the 95 % interval of the paired
        bootstrap; 0 for the best itself, None for a single point, whose score says nothing.
    """

    collection: str
    engine: str
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
    """A query of the study and some of its variants; studies are made of public queries."""

    spec: str
    query: str
    variants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """What is claimed of one configuration: kind, epsilon per word, total, and the caveat."""

    spec: str
    kind: str
    epsilon: float | None
    total: str
    means: str
    caveat: str


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a report shows.

    `facts` are pairs of a name and a value: the command, versions, the seed, the size of the log,
    the machine's number of cores, and the time it took.
    """

    name: str
    rows: tuple[Row, ...]
    examples: tuple[Example, ...] = ()
    cards: tuple[Card, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())
    scores: tuple[Score, ...] = ()
