r"""Laws on finitely many values, each with a weight :math:`c\,e^{-x}` of rational c and x."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from veil.dp.exact.powers import exp_minus
from veil.dp.exact.table import PRECISION, Steps, Table

Number = Fraction | int
_GUARD = 64


@dataclass(frozen=True)
class Weighted:
    """P(i) is proportional to coefficient_i e^-exponent_i; both are at least 0."""

    weights: tuple[tuple[Fraction, Fraction], ...]

    def steps(self, bits: int) -> Steps:
        """Add up bounds of the weights, and divide by bounds of their sum."""
        work = bits + _GUARD + max(1, len(self.weights)).bit_length()
        least = min(exponent for coefficient, exponent in self.weights if coefficient)
        most = max(coefficient for coefficient, _ in self.weights)
        values, lo, hi = [], [0], [0]
        for value, (coefficient, exponent) in enumerate(self.weights):
            if not coefficient:
                continue
            share = coefficient / most
            low, high = exp_minus(exponent - least, work)
            values.append(value)
            lo.append(lo[-1] + low * share.numerator // share.denominator)
            hi.append(hi[-1] - (-high * share.numerator // share.denominator))
        full = 1 << bits
        ends = range(1, len(values))
        below = [_share(lo[i], hi[-1] - hi[i], bits) for i in ends]
        above = [min(full, _share(hi[i], lo[-1] - lo[i], bits) + 1) for i in ends]
        return Steps(values, [*below, full], [*above, full], bits)


def _share(before: int, after: int, bits: int) -> int:
    """Return 2^bits before / (before + after), rounded down."""
    return (before << bits) // (before + after)


def finite(weights: Sequence[tuple[Number, Number]], bits: int = PRECISION) -> Table:
    """Return draws of 0, 1, ... with P(i) proportional to coefficient_i e^-exponent_i.

    >>> from veil.core.rng import generator
    >>> finite([(0, 0), (1, 0), (1, 1000)]).draw(3, generator(1)).tolist()
    [1, 1, 1]
    """
    exact = tuple((Fraction(coefficient), Fraction(exponent)) for coefficient, exponent in weights)
    if not any(coefficient for coefficient, _ in exact) or any(min(pair) < 0 for pair in exact):
        raise ValueError("Weights and exponents must be at least 0, and one weight above it.")
    return Table(Weighted(exact), bits)
