"""What one release costs, and how often it is made."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from veil.core.component import Component
from veil.core.errors import ParameterError, VeilError
from veil.core.guarantee import Guarantee
from veil.dp.inputs import is_whole, positive
from veil.dp.local.oracle import Oracle
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import MECHANISMS
from veil.dp.mechanisms import mechanism as named
from veil.dp.mechanisms.gaussian import Gaussian
from veil.dp.release import mechanism_or_oracle


@dataclass(frozen=True, slots=True)
class Sampled:
    """One release made of a Poisson sample; which records are in it stays secret."""

    of: Mechanism | Guarantee
    q: float

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of one release for the whole data, by epsilon and delta alone."""
        return amplify(guarantee_of(self.of), self.q)

    def __str__(self) -> str:
        return f"{self.of}, sampled at {self.q:g}"


def sampled(mechanism: str | Mechanism | Guarantee | Sampled, q: float) -> Sampled:
    """Return a mechanism as it is run on a sample that takes each record with probability q.

    Every record is taken or not by itself (Poisson sampling), anew for every release, and the
    sample is told to nobody. A sample of fixed size, or batches that divide the data, are
    something else, and this must not be used for them.

    Parameters
    ----------
    mechanism
        A mechanism, its spec, or a guarantee under adding or removing a record.
    q
        The probability of a record, above 0 and at most 1.

    References
    ----------
    Balle, Barthe, Gaboardi. Privacy Amplification by Subsampling. NeurIPS 2018, Theorem 8.

    Examples
    --------
    >>> round(sampled("geometric(epsilon=1)", 0.01).guarantee.epsilon, 6)
    0.017037
    """
    if (rate := positive("q", q)) > 1:
        raise ParameterError("The 'q' argument of a sample must be a number > 0 and <= 1.")
    if isinstance(mechanism, Sampled):
        return Sampled(mechanism.of, mechanism.q * rate)
    of = mechanism if isinstance(mechanism, Guarantee) else named(mechanism)
    told = guarantee_of(of)
    if told.kind == "local-dp" or (told.neighbours and "add or remove" not in told.neighbours):
        raise ParameterError(
            "A sample makes less of a guarantee under adding or removing a record alone; count the"
            " mechanism as it is."
        )
    return Sampled(of, rate)


def guarantee_of(of: Mechanism | Guarantee) -> Guarantee:
    """Return the guarantee of a mechanism, or the guarantee itself."""
    return of if isinstance(of, Guarantee) else of.guarantee


def amplify(told: Guarantee, q: float) -> Guarantee:
    """Return what holds for all records when each is sampled with probability q.

    (epsilon, delta) becomes (ln(1 + q (e^epsilon - 1)), q delta). Of zCDP no such form is proved:
    rho stays, which holds, too.
    """
    if told.kind != "dp" or q == 1:
        return told
    if told.epsilon < 700:
        epsilon = math.log1p(q * math.expm1(told.epsilon))
    else:
        epsilon = told.epsilon + math.log(q)
    return replace(told, epsilon=min(told.epsilon, epsilon), delta=q * told.delta)


Item = Mechanism | Oracle | str | Guarantee | Sampled | tuple[Any, int] | list[Any]

_MOST = 10**9  # releases
_ITEMS = (
    "An item must be a mechanism, an oracle, its spec, a guarantee, a sample of one, or a pair of"
    " an item and how often it is released."
)


@dataclass(frozen=True, slots=True)
class Cost:
    """One release as an accountant sees it.

    `guarantee` is what is proved of it, on a sample if `rate` is below 1. `spec` names the
    mechanism where it is one of the registry, for those who know its law; `rho` is what it is in
    zCDP, where that is proved besides.
    """

    guarantee: Guarantee
    spec: str = ""
    rate: float = 1.0
    rho: float = math.inf

    def __str__(self) -> str:
        told = self.spec or str(self.guarantee)
        return told if self.rate == 1 else f"{told}, sampled at {self.rate:g}"


def cost_of(item: object) -> tuple[Cost, int]:
    """Return what an item costs once, and how often it is meant.

    >>> cost, times = cost_of((("geometric(epsilon=0.5)", 2), 3))
    >>> cost.guarantee.epsilon, times
    (0.5, 6)
    """
    item, times = _single(item)
    rate = item.q if isinstance(item, Sampled) else 1.0
    told = getattr(item, "guarantee", None) if isinstance(item, Sampled | Component) else item
    if not isinstance(told, Guarantee):
        raise ParameterError(_ITEMS)
    of = item.of if isinstance(item, Sampled) else item
    spec = of.brief if isinstance(of, Mechanism) and _is_registered(of) else ""
    if told.kind == "zcdp":
        return Cost(told, spec, rate, told.rho), times
    rho = _rho(of) if spec and isinstance(of, Gaussian) and rate == 1 else math.inf
    return Cost(told, spec, rate, rho), times


def _single(item: object) -> tuple[object, int]:
    """Return a mechanism, a guarantee or a sample of one, and the product of all times."""
    times = 1
    while isinstance(item, tuple | list):
        if len(item) != 2:
            raise ParameterError(_ITEMS)
        times *= whole_times(item[1])
        item = item[0]
    return (mechanism_or_oracle(item) if isinstance(item, str) else item), times


def costs_of(items: object) -> Counter[Cost]:
    """Return how often each cost is met, whatever the order; a single item may stand alone."""
    counts: Counter[Cost] = Counter()
    for item in as_list(items):
        cost, times = cost_of(item)
        counts[cost] += times
    return counts


def as_list(items: object) -> list[object]:
    """Return items as a list; a single one, or one with how often, may stand alone."""
    alone = isinstance(items, str | Guarantee | Sampled | Component)
    if alone or (isinstance(items, tuple | list) and len(items) == 2 and is_whole(items[1])):
        return [items]
    if not isinstance(items, Iterable):
        raise ParameterError(_ITEMS)
    return list(items)


def whole_times(value: object) -> int:
    """Return how often, as a whole number of at least 1."""
    if not is_whole(value) or not 1 <= int(value) <= _MOST:  # type: ignore[call-overload]
        raise ParameterError(
            "How often, or of how many, must be a whole number from 1 to 1,000,000,000."
        )
    return int(value)  # type: ignore[call-overload, no-any-return]


def _is_registered(of: Mechanism) -> bool:
    """Tell whether the spec of a mechanism leads to the very class."""
    try:
        return MECHANISMS.get(of.name) is type(of)
    except VeilError:
        return False


def _rho(of: Gaussian) -> float:
    """Return the zCDP of a Gaussian that was asked for by epsilon and delta.

    Its sigma is never below that of the continuous law, by which this is computed.
    """
    return of.sensitivity**2 / (2 * of.scale**2)
