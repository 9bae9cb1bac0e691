"""The cost of one release, and its multiplicity."""

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
    """A release computed on a Poisson sample whose members stay secret."""

    of: Mechanism | Guarantee
    q: float

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one release for the whole data, from epsilon and delta only."""
        return amplify(guarantee_of(self.of), self.q)

    def __str__(self) -> str:
        return f"{self.of}, sampled at {self.q:g}"


def sampled(mechanism: str | Mechanism | Guarantee | Sampled, q: float) -> Sampled:
    """Return a mechanism run on a sample that includes each record with probability q.

    Records are sampled independently (Poisson sampling), again for every release, and the sample
    stays secret. Do not use this for samples of fixed size or for batches that partition the data.

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
        raise ParameterError("The 'q' argument must be a number > 0 and <= 1.")
    if isinstance(mechanism, Sampled):
        return Sampled(mechanism.of, mechanism.q * rate)
    of = mechanism if isinstance(mechanism, Guarantee) else named(mechanism)
    guarantee = guarantee_of(of)
    if guarantee.kind == "local-dp" or (
        guarantee.neighbours and "add or remove" not in guarantee.neighbours
    ):
        raise ParameterError(
            "Sampling improves only guarantees under adding or removing a record. Compose the"
            " mechanism without sampled()."
        )
    return Sampled(of, rate)


def guarantee_of(of: Mechanism | Guarantee) -> Guarantee:
    """Return the guarantee of a mechanism, or the guarantee itself."""
    return of if isinstance(of, Guarantee) else of.guarantee


def amplify(guarantee: Guarantee, q: float) -> Guarantee:
    """Return the guarantee for all records if each is sampled with probability q.

    (epsilon, delta) becomes (ln(1 + q (e^epsilon - 1)), q delta). No such bound is proved for
    zCDP, so rho stays, which is valid.
    """
    if guarantee.kind != "dp" or q == 1:
        return guarantee
    if guarantee.epsilon < 700:
        epsilon = math.log1p(q * math.expm1(guarantee.epsilon))
    else:
        epsilon = guarantee.epsilon + math.log(q)
    return replace(guarantee, epsilon=min(guarantee.epsilon, epsilon), delta=q * guarantee.delta)


Item = Mechanism | Oracle | str | Guarantee | Sampled | tuple[Any, int] | list[Any]

_MOST = 10**9  # releases
_ITEMS = (
    "An item must be a mechanism, its spec, a guarantee, a sampled mechanism, or a pair of an item"
    " and its number of releases."
)


@dataclass(frozen=True, slots=True)
class Cost:
    """One release as an accountant sees it.

    `guarantee` is that of one run, on a sample if `rate` is below 1. `spec` names a registered
    mechanism, for accountants that know its distribution. `rho` is its zCDP parameter, if that is
    also proved.
    """

    guarantee: Guarantee
    spec: str = ""
    rate: float = 1.0
    rho: float = math.inf

    def __str__(self) -> str:
        label = self.spec or str(self.guarantee)
        return label if self.rate == 1 else f"{label}, sampled at {self.rate:g}"


def cost_of(item: object) -> tuple[Cost, int]:
    """Return the cost of one release of an item, and its number of releases.

    >>> cost, times = cost_of((("geometric(epsilon=0.5)", 2), 3))
    >>> cost.guarantee.epsilon, times
    (0.5, 6)
    """
    item, times = _single(item)
    rate = item.q if isinstance(item, Sampled) else 1.0
    guarantee = getattr(item, "guarantee", None) if isinstance(item, Sampled | Component) else item
    if not isinstance(guarantee, Guarantee):
        raise ParameterError(_ITEMS)
    of = item.of if isinstance(item, Sampled) else item
    spec = of.brief if isinstance(of, Mechanism) and _is_registered(of) else ""
    if guarantee.kind == "zcdp":
        return Cost(guarantee, spec, rate, guarantee.rho), times
    rho = _rho(of) if spec and isinstance(of, Gaussian) and rate == 1 else math.inf
    return Cost(guarantee, spec, rate, rho), times


def _single(item: object) -> tuple[object, int]:
    """Return the innermost item, and the product of all multiplicities."""
    times = 1
    while isinstance(item, tuple | list):
        if len(item) != 2:
            raise ParameterError(_ITEMS)
        times *= whole_times(item[1])
        item = item[0]
    return (mechanism_or_oracle(item) if isinstance(item, str) else item), times


def costs_of(items: object) -> Counter[Cost]:
    """Return the number of releases of each cost; `items` may be a single item."""
    counts: Counter[Cost] = Counter()
    for item in as_list(items):
        cost, times = cost_of(item)
        counts[cost] += times
    return counts


def as_list(items: object) -> list[object]:
    """Return items as a list; `items` may be a single item or pair."""
    single = isinstance(items, str | Guarantee | Sampled | Component)
    if single or (isinstance(items, tuple | list) and len(items) == 2 and is_whole(items[1])):
        return [items]
    if not isinstance(items, Iterable):
        raise ParameterError(_ITEMS)
    return list(items)


def whole_times(value: object) -> int:
    """Return a number of releases or units as an integer >= 1."""
    if not is_whole(value) or not 1 <= int(value) <= _MOST:  # type: ignore[call-overload]
        raise ParameterError(
            "A number of releases or units must be an integer from 1 to 1,000,000,000."
        )
    return int(value)  # type: ignore[call-overload, no-any-return]


def _is_registered(of: Mechanism) -> bool:
    """Return whether the registry has this class under the name of the mechanism."""
    try:
        return MECHANISMS.get(of.name) is type(of)
    except VeilError:
        return False


def _rho(of: Gaussian) -> float:
    """Return the rho of a Gaussian that was specified by epsilon and delta.

    It is computed from the sigma of the continuous distribution; the actual sigma is never
    smaller.
    """
    return of.sensitivity**2 / (2 * of.scale**2)
