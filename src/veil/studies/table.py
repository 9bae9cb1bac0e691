"""The tidy table of a study: one row per configuration and measure."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["risk", "utility", "similarity", "recovery"]


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
        (jaccard, cosine, bleu, meteor) or ``recovery`` (share of words or queries, by `size`).
    attacker
        Spec of the attacker for risk and recovery, else "".
    score, low, high, n
        The mean over `n` queries and its 95 % bootstrap interval.
    chance
        What a blind guess would reach, for risk and recovery; else None.
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
