"""The exact law of a mechanism."""

from veil.core.errors import LawError, VeilError
from veil.core.types import Floats
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import mechanism as named


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
