"""Place mechanisms for counts on the risk-utility plane."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from veil import studies
from veil.core.errors import ParameterError
from veil.core.registry import read_spec
from veil.core.rng import Randomness
from veil.dp.attack import (
    QUESTIONS,
    RATE,
    Attack,
    attacker_of,
    bits,
)
from veil.dp.inputs import count, positive
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import COUNTING
from veil.dp.study import Counts, Secrets
from veil.measures.plane import Plane as Plane
from veil.measures.plane import PlanePoint as PlanePoint

RUNS = 10  # of each attack; the risk is their mean
_SWEPT = ("epsilon", "rho", "sigma")  # parameters that can be swept, unless fixed


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
    """Release noisy counts of a secret bit, attack them, and measure risk and utility.

    Parameters
    ----------
    name
        The mechanism, such as ``geometric`` or ``gaussian(delta=1e-6)``.
    values
        Values of its epsilon, rho or sigma, per answer.
    attacker
        Spec of the attack; it may ask any question and gets noisy counts.
    secret
        (n,) 0 or 1 for each record.
    queries
        Number of counts of random sets that measure utility. By default that of the attack, or
        400.
    rate
        Publicly known share of ones: the blind answer is this share of the set.
    runs
        Number of repetitions; risk and utility are means.

    Examples
    --------
    >>> points = plane("geometric", [0.1, 5], "differencing", [1, 0, 1, 1, 0, 1], rng=1)
    >>> [point.value for point in points], points[1].cost.epsilon
    ([0.1, 5.0], 35.0)
    """
    by, bit = attacker_of(attacker), bits(secret)
    known_rate = positive("rate", rate, zero=True)
    if known_rate > 1:
        raise ParameterError(
            f"The 'rate' argument must be from 0 to 1. Got {known_rate:g} instead."
        )
    n_queries = count("queries", getattr(by, "queries", QUESTIONS) if queries is None else queries)
    mechanisms = [mechanism for _, mechanism in sweep_budget(name, values)]
    experiment = Counts.of(
        Secrets("counts", bit[None]),
        rng,
        groups=count("runs", runs),
        queries=n_queries,
        rate=known_rate,
    )
    return studies.plane(experiment, mechanisms, [by], parameter=parameter_of(name))


def sweep_budget(name: str, values: Sequence[float]) -> list[tuple[float, Mechanism]]:
    """Return the mechanism for each value of its swept parameter."""
    head, fixed = read_spec(name)
    listed = list(values) if isinstance(values, Iterable) else []
    if not listed:
        raise ParameterError("A plane needs at least one value of the parameter.")
    key = parameter_of(name)
    try:
        numbers = [float(value) for value in listed]
    except (TypeError, ValueError):
        raise ParameterError(f"The values of '{key}' must be numbers.") from None
    if any(isinstance(value, bool | np.bool_) for value in listed):
        raise ParameterError(f"The values of '{key}' must be numbers, not booleans.")
    cls = COUNTING.get(head)
    return [(value, cls.load({**fixed, key: value})) for value in numbers]


def parameter_of(name: str) -> str:
    """Return the parameter of a mechanism to sweep: the first of its budgets that is not fixed.

    >>> parameter_of("geometric"), parameter_of("gaussian"), parameter_of("gaussian(delta=1e-6)")
    ('epsilon', 'sigma', 'epsilon')
    """
    head, fixed = read_spec(name)
    fields = COUNTING.get(head).model_fields
    free = [key for key in _SWEPT if key in fields and key not in fixed]
    if "delta" in fields and "delta" not in fixed:  # epsilon needs a delta
        free = [key for key in free if key != "epsilon"]
    if not free:
        raise ParameterError(f"The mechanism {head} has no free epsilon, rho or sigma to sweep.")
    return free[0]
