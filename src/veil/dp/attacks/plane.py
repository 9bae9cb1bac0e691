"""Place a mechanism for counts on the risk-utility plane: protect, attack, measure."""

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

RUNS = 10  # of an attack, whose mean is the risk
_SWEPT = ("epsilon", "rho", "sigma")  # the parameter whose values are tried, unless it is given


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
    by, bit = attacker_of(attacker), bits(secret)
    known = positive("rate", rate, zero=True)
    if known > 1:
        raise ParameterError(f"The 'rate' argument must be from 0 to 1. Got {known:g} instead.")
    asked = count("queries", getattr(by, "queries", QUESTIONS) if queries is None else queries)
    mechanisms = [mechanism for _, mechanism in sweep_budget(name, values)]
    experiment = Counts.of(
        Secrets("counts", bit[None]), rng, groups=count("runs", runs), queries=asked, rate=known
    )
    return studies.plane(experiment, mechanisms, [by], parameter=parameter_of(name))


def sweep_budget(name: str, values: Sequence[float]) -> list[tuple[float, Mechanism]]:
    """Return the mechanism for each value of its budget, or of its noise."""
    head, fixed = read_spec(name)
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
    return [(value, cls.load({**fixed, key: value})) for value in numbers]


def parameter_of(name: str) -> str:
    """Return which parameter of a mechanism is tried: the budget, unless it is given.

    >>> parameter_of("geometric"), parameter_of("gaussian"), parameter_of("gaussian(delta=1e-6)")
    ('epsilon', 'sigma', 'epsilon')
    """
    head, fixed = read_spec(name)
    known = COUNTING.get(head).model_fields
    free = [key for key in _SWEPT if key in known and key not in fixed]
    if "delta" in known and "delta" not in fixed:  # an epsilon is nothing without it
        free = [key for key in free if key != "epsilon"]
    if not free:
        raise ParameterError(
            f"The mechanism {head} has no epsilon, rho or sigma to try values of."
        )
    return free[0]
