"""What an accountant finds: an epsilon and a delta that hold for everything together."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from veil.core.errors import ParameterError
from veil.dp.accounting.cost import Cost

Counts = Mapping[Cost, int]


@dataclass(frozen=True, slots=True)
class Bound:
    """An epsilon at a delta; or a rho where nothing was converted.

    `by` says how it was found, and `caveats` what it does not cover.
    """

    epsilon: float = math.inf
    delta: float = 0.0
    rho: float = math.inf
    by: str = ""
    caveats: tuple[str, ...] = ()


def summed(amounts: Iterable[tuple[float, int]]) -> float:
    """Add amounts up, each so many times, as the decimals that they are written as.

    >>> summed([(0.1, 3), (0.7, 1)])
    1.0
    """
    return float(
        sum((Fraction(repr(float(value))) * times for value, times in amounts), Fraction())
    )


def pairs(counts: Counts) -> list[tuple[float, float, int]]:
    """Return (epsilon, delta, times) of what is not zCDP."""
    return [
        (cost.guarantee.epsilon, cost.guarantee.delta, times)
        for cost, times in counts.items()
        if cost.guarantee.kind != "zcdp"
    ]


def concentrated(counts: Counts) -> float:
    """Return the sum of rho of what is zCDP."""
    return summed(
        (cost.guarantee.rho, times)
        for cost, times in counts.items()
        if cost.guarantee.kind == "zcdp"
    )


def own_delta(counts: Counts) -> float:
    """Return the sum of the deltas that releases have of their own, at most 1."""
    return min(1.0, summed((delta, times) for _, delta, times in pairs(counts)))


def left_of(delta: float, own: float) -> float:
    """Return what of a delta is left for a conversion, 0 if nothing is."""
    return max(0.0, float(Fraction(repr(float(delta))) - Fraction(repr(float(own)))))


def room(delta: float, own: float) -> float:
    """Return what of a delta is left for the conversion of zCDP, or say that nothing is."""
    left = left_of(delta, own)
    if not left:
        least = f"above {own:g}, which releases cost by themselves," if own else "above 0"
        raise ParameterError(
            f"What zCDP is in epsilon needs a delta {least} and below 1: delta=1e-6, --delta 1e-6."
        )
    return left
