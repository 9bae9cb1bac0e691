"""From an exact answer to a noisy one, and the exact law of that step."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.core.errors import InputError, LawError, ParameterError, VeilError
from veil.core.guarantee import Guarantee
from veil.core.registry import Registry, read_spec, unknown_name
from veil.core.rng import Randomness, generator
from veil.core.types import Floats
from veil.dp.local.oracle import Oracle
from veil.dp.local.oracles import ORACLES
from veil.dp.mechanism import Array, Mechanism
from veil.dp.mechanisms import MECHANISMS
from veil.dp.mechanisms import mechanism as named


@dataclass(frozen=True)
class Families:
    """Mechanisms and oracles together, by name; a name of both is the mechanism."""

    def names(self) -> tuple[str, ...]:
        """Return all names: mechanisms, then oracles."""
        return (*MECHANISMS.names(), *ORACLES.names())

    def get(self, name: str) -> type[Mechanism] | type[Oracle]:
        """Return the class of that name; plugins are searched for if no built-in has it."""
        return self._registry(name).get(name)

    def parse(self, spec: str) -> Mechanism | Oracle:
        """Build a mechanism or an oracle from its spec."""
        return self._registry(read_spec(spec)[0]).parse(spec)

    def _registry(self, name: str) -> Registry[Mechanism] | Registry[Oracle]:
        if name in MECHANISMS.builtin or (
            name not in ORACLES.builtin and name in MECHANISMS.names()
        ):
            return MECHANISMS
        if name in ORACLES.builtin or name in ORACLES.names():
            return ORACLES
        raise unknown_name("mechanism or oracle", name, self.names())


FAMILIES = Families()


def mechanism_or_oracle(spec: str | Mechanism | Oracle) -> Mechanism | Oracle:
    """Return the mechanism or the oracle of a spec.

    >>> local, central = "hcms(epsilon=4)", "laplace(epsilon=1)"
    >>> mechanism_or_oracle(local).guarantee.kind, mechanism_or_oracle(central).guarantee.kind
    ('local-dp', 'dp')
    """
    return spec if isinstance(spec, Mechanism | Oracle) else FAMILIES.parse(spec)


@dataclass(frozen=True, eq=False)
class Release:
    """A noisy answer, its mechanism and its cost; it does not hold the exact answer.

    `value` has the shape of the answer: a number for a number, an array for an array, with one
    more axis in front for several releases. `seeded` means that anybody with the seed can repeat
    the draws: **not private**.
    """

    value: Any
    mechanism: str
    cost: Guarantee
    seeded: bool = False


def release(
    x: object, mechanism: str | Mechanism, size: int | None = None, rng: Randomness = None
) -> Release:
    """Release an answer once, or `size` times, which costs that many times as much.

    Parameters
    ----------
    x
        The exact answer, as the mechanism takes it: a number or an array for noise, scores for a
        choice, codes for randomised response. An array is one query, with one sensitivity.
    mechanism
        A mechanism, or its spec.
    size
        Number of independent releases, stacked on the first axis; None for one.
    rng
        None for fresh randomness of the operating system. A seed or a generator is for
        experiments: the release is marked as seeded and **not private**.

    Examples
    --------
    >>> release([120, 37, 4], "geometric(epsilon=0.5)", rng=1).cost.epsilon
    0.5
    """
    chosen = named(mechanism)
    if size is not None and (
        isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1
    ):
        raise ParameterError("The 'size' argument must be None or a whole number >= 1.")
    exact = chosen.check(x)
    count = 1 if size is None else int(size)
    try:
        drawn = chosen.draw(exact, count, generator(rng))
    except ArithmeticError:
        raise ParameterError(
            f"The parameters of {chosen.name} are too large or too small to compute with."
        ) from None
    value = drawn if size is not None else drawn[0]
    cost = chosen.guarantee
    return Release(
        value.item() if np.ndim(value) == 0 else value,
        str(chosen),
        cost if count == 1 else cost.compose(count, cost.unit),
        rng is not None,
    )


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


_MOST = 1_000  # outputs that are listed


def table_of_law(
    m: Mechanism, numbers: Array, outputs: Array | None = None
) -> list[tuple[list[float], float]]:
    """Return outputs, each as its numbers, with their exact probabilities.

    Without `outputs` (k,) or (k, d) all of them are listed, or those around one number; InputError
    if there are too many. One number is a number, not a row, unless the mechanism takes rows.

    >>> from veil.dp.mechanisms import mechanism
    >>> table_of_law(mechanism("randomised_response(epsilon=100)"), np.array([1]))[1][0]
    [1]
    """
    single = numbers.size == 1 and not m.rows
    x = m.check(numbers.reshape(()) if single else numbers)
    listed = outcomes(m, x) if outputs is None else outputs
    if single and listed.ndim > 1:
        raise InputError("An output for one number is one number.")
    chances = m.law(x, listed)
    return [
        (np.atleast_1d(output).tolist(), float(chance))
        for output, chance in zip(listed, chances, strict=True)
    ]


def outcomes(m: Mechanism, x: Array) -> Array:
    """Return all outputs for a checked input, or those around it; InputError if too many."""
    values = m.outcomes(x)
    if not 0 < len(values) <= _MOST:
        raise InputError(
            f"The outputs of {m.name} are too many to show all of them; name some, as --output 3."
        )
    return np.array(list(values))
