"""Place a mechanism for counts on the risk-utility plane: protect, attack, measure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from veil.core.errors import ParameterError
from veil.core.estimate import Estimate
from veil.core.guarantee import Guarantee
from veil.core.registry import read_spec
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.attack import (
    QUESTIONS,
    RATE,
    Attack,
    NoisyCounts,
    Questions,
    attacker_of,
    bits,
    gains,
    mean_advantage,
    usefulness,
    workload,
)
from veil.dp.inputs import count, positive
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import COUNTING
from veil.measures.quipu import quipu

RUNS = 10  # of an attack, whose mean is told
_SWEPT = ("epsilon", "rho", "sigma")  # the parameter whose values are tried, unless it is given


class PlanePoint(NamedTuple):
    """One value of the parameter: the attacker's advantage, and what the answers are worth.

    `cost` is that of all the attacker's questions together: budgets are summed.
    """

    value: float
    risk: Estimate
    utility: float
    spec: str
    asked: int
    cost: Guarantee


@dataclass(frozen=True)
class Plane:
    """Points in the order in which the values were named, and their QuIPU score.

    The score takes them from the most private to the most useful: by the parameter, in the
    direction that the mechanism declares for it.
    """

    rows: tuple[PlanePoint, ...]
    quipu: float

    def __iter__(self) -> Iterator[PlanePoint]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> PlanePoint:
        return self.rows[number]


class Trial(NamedTuple):
    """What one attack found (n,), how often it asked, and what each record adds to the risk.

    `guesses` says whether what it found are guesses, and not scores.
    """

    found: Floats
    asked: int
    gains: Floats
    guesses: bool = True


def plane(
    name: str,
    values: Sequence[float],
    attacker: str | Attack,
    secret: ArrayLike,
    rng: Randomness = None,
    *,
    queries: int | None = None,
    rate: float = RATE,
    runs: int = RUNS,
) -> Plane:
    """Answer counts of a secret bit with noise, attack them, and measure what they are worth.

    Parameters
    ----------
    name
        The mechanism, as ``geometric`` or ``gaussian(delta=1e-6)``.
    values
        Of its epsilon, rho or sigma, for each answer.
    attacker
        Spec of who attacks; it asks what it likes, and gets noisy counts.
    secret
        (n,) 0 or 1 for each record.
    queries
        How many counts of random sets the utility is measured by; as many as the attacker asks
        for, or 400.
    rate
        The share of ones that everybody knows: the blind answer is that share of the set.
    runs
        How often everything is repeated; risk and utility are means.

    Examples
    --------
    >>> found = plane("geometric", [0.1, 5], "differencing", [1, 0, 1, 1, 0, 1], rng=1)
    >>> [point.value for point in found], found[1].cost.epsilon
    ([0.1, 5.0], 35.0)
    """
    by, bit, draws = attacker_of(attacker), bits(secret), generator(rng)
    known = positive("rate", rate, zero=True)
    if known > 1:
        raise ParameterError(f"The 'rate' argument must be from 0 to 1. Got {known:g} instead.")
    asked = count("queries", getattr(by, "queries", QUESTIONS) if queries is None else queries)
    times = count("runs", runs)
    rows = [
        _spot(one, value, by, bit, draws, asked, known, times)
        for value, one in sweep_budget(name, values)
    ]
    order = np.argsort([row.value for row in rows], kind="stable")
    if COUNTING.get(read_spec(name)[0]).direction(parameter_of(name)) == "private":
        order = order[::-1]
    score = quipu([float(rows[at].risk) for at in order], [rows[at].utility for at in order])
    return Plane(tuple(rows), score)


def _spot(
    mechanism: Mechanism, value: float, by: Attack, bit: Ids, rng: Generator, queries: int,
    rate: float, runs: int,
) -> PlanePoint:  # fmt: skip
    tried = [trial(by, bit, mechanism, rng) for _ in range(runs)]
    worth = np.mean([worth_of(bit, mechanism, rng, queries, rate) for _ in range(runs)])
    cost = mechanism.guarantee.compose(tried[0].asked, mechanism.guarantee.unit)
    risk = mean_advantage(np.stack([one.gains for one in tried]))
    return PlanePoint(value, risk, float(worth), str(mechanism), tried[0].asked, cost)


def worth_of(
    bit: Ids, mechanism: Mechanism, rng: Generator, queries: int = QUESTIONS, rate: float = RATE
) -> float:
    """Return how useful noisy counts of random sets are, from 0 to 1."""
    sets, ask = workload(len(bit), rng, queries), NoisyCounts(bit, mechanism, rng)
    answers = np.array([ask(one) for one in sets])
    return usefulness((sets @ bit).astype(np.int64), answers, rate * sets.sum(axis=1))


def trial(by: Attack, bit: Ids, mechanism: Mechanism, rng: Generator, size: int = 1) -> Trial:
    """Let an attacker ask for noisy counts, and score what it finds; the truth scores alone."""
    ask = Questions(NoisyCounts(bit, mechanism, rng, size))
    found = by.run(ask, len(bit), rng)
    scores = by.gives == "scores"
    few = min(int(bit.sum()), int((1 - bit).sum())) < 2  # too few to choose a threshold by
    added = np.zeros(len(bit)) if scores and few else gains(found, bit, scores=scores)
    return Trial(found, ask.asked, added, not scores)


def sweep_budget(name: str, values: Sequence[float]) -> list[tuple[float, Mechanism]]:
    """Return the mechanism for each value of its budget, or of its noise."""
    head, given = read_spec(name)
    listed = list(values) if isinstance(values, Iterable) else []
    if not listed:
        raise ParameterError("A plane needs values of the parameter; name at least one.")
    key = parameter_of(name)
    try:
        numbers = [float(value) for value in listed]
    except (TypeError, ValueError):
        raise ParameterError(f"The values of '{key}' must be numbers.") from None
    if any(isinstance(value, bool | np.bool_) for value in listed):
        raise ParameterError(f"The values of '{key}' must be numbers, and no truth values.")
    cls = COUNTING.get(head)
    return [(value, cls.load({**given, key: value})) for value in numbers]


def parameter_of(name: str) -> str:
    """Return which parameter of a mechanism is tried: the budget, unless it is given.

    >>> parameter_of("geometric"), parameter_of("gaussian"), parameter_of("gaussian(delta=1e-6)")
    ('epsilon', 'sigma', 'epsilon')
    """
    head, given = read_spec(name)
    known = COUNTING.get(head).model_fields
    free = [key for key in _SWEPT if key in known and key not in given]
    if "delta" in known and "delta" not in given:  # an epsilon is nothing without it
        free = [key for key in free if key != "epsilon"]
    if not free:
        raise ParameterError(
            f"The mechanism {head} has no epsilon, rho or sigma to try values of."
        )
    return free[0]
