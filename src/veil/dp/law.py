"""The exact law of a mechanism, and the law as a table of outputs."""

from itertools import product

import numpy as np

from veil.core.errors import InputError, LawError, VeilError
from veil.core.types import Floats
from veil.dp.mechanism import Array, Mechanism
from veil.dp.mechanisms import mechanism as named
from veil.dp.mechanisms.above_threshold import AboveThreshold
from veil.dp.mechanisms.gaussian import DiscreteGaussian
from veil.dp.mechanisms.laplace import Geometric
from veil.dp.mechanisms.quantile import Quantile
from veil.dp.mechanisms.randomised_response import RandomisedResponse
from veil.dp.mechanisms.selection import Selection


def law(mechanism: str | Mechanism, x: object, outputs: object) -> Floats:
    """Return the exact probability of each of `outputs` for the input x, or raise LawError.

    >>> law("geometric(epsilon=0.5)", 10, [10, 11]).round(6).tolist()
    [0.244919, 0.148551]
    """
    chosen = named(mechanism)
    try:
        return chosen.law(chosen.check(x), outputs)
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, VeilError):
            raise
        raise LawError(
            f"The law of {chosen} cannot be computed: its parameters or the outputs are too large"
            " or too small."
        ) from None


_MOST = 1_000
_ROWS = (Selection, Quantile, AboveThreshold)  # which take a row, also of one number
_AROUND = 8


def table_of_law(
    m: Mechanism, numbers: Array, outputs: Array | None = None
) -> list[tuple[list[float], float]]:
    """Return outputs, each as its numbers, with their exact probabilities.

    Without `outputs` (k,) or (k, d) all of them are told, or those around one number; where there
    are too many, InputError. One number is a number, and not a row, wherever a row is not needed.

    >>> from veil.dp.mechanisms import mechanism
    >>> table_of_law(mechanism("randomised_response(epsilon=100)"), np.array([1]))[1][0]
    [1]
    """
    alone = numbers.size == 1 and not isinstance(m, _ROWS)
    x = m.check(numbers.reshape(()) if alone else numbers)
    told = outcomes(m, x) if outputs is None else outputs
    if alone and told.ndim > 1:
        raise InputError("An output for one number is one number.")
    chances = m.law(x, told)
    return [
        (np.atleast_1d(output).tolist(), float(chance))
        for output, chance in zip(told, chances, strict=True)
    ]


def outcomes(m: Mechanism, x: Array) -> Array:
    """Return all outputs for a checked input, or those around it; InputError for too many."""
    values = _values(m, x)
    if values is None or len(values) > _MOST:
        raise InputError(
            f"The outputs of {m.name} are too many to show all of them; name some, as --output 3."
        )
    return np.array(list(values))


def _values(m: Mechanism, x: Array) -> range | list[tuple[int, ...]] | None:
    if isinstance(m, Selection):
        return range(len(x))
    if isinstance(m, Quantile):
        return range(m.low, m.high + 1)
    if isinstance(m, RandomisedResponse) and x.size == 1:
        return range(m.k)
    if isinstance(m, Geometric | DiscreteGaussian) and x.size == 1:
        middle = int(x.reshape(-1)[0])
        return range(middle - _AROUND, middle + _AROUND + 1)
    return _patterns(m, len(x)) if isinstance(m, AboveThreshold) else None


def _patterns(m: AboveThreshold, n: int) -> list[tuple[int, ...]] | None:
    """Return all answers to n queries that there can be."""
    if m.version == "roth" or n > 9:
        return None
    if not m.ends:
        return list(product((0, 1), repeat=n))
    ended = [
        tuple(answer if sum(each[:at]) < m.cutoff else -1 for at, answer in enumerate(each))
        for each in product((0, 1), repeat=n)
    ]
    return sorted(set(ended))
