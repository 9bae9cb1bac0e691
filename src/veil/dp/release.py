"""Release noisy answers, and compute the exact distribution of a release."""

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
    """Central and local mechanisms by name: built-in ones win over plugins, then central ones."""

    def names(self) -> tuple[str, ...]:
        """Return all names: mechanisms, then oracles."""
        return (*MECHANISMS.names(), *ORACLES.names())

    def get(self, name: str) -> type[Mechanism] | type[Oracle]:
        """Return the class with this name: built-in ones first, then plugins."""
        return self._registry(name).get(name)

    def parse(self, spec: str) -> Mechanism | Oracle:
        """Build a central or local mechanism from its spec."""
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
    """Return the central or local mechanism that a spec names.

    >>> local, central = "hcms(epsilon=4)", "laplace(epsilon=1)"
    >>> mechanism_or_oracle(local).guarantee.kind, mechanism_or_oracle(central).guarantee.kind
    ('local-dp', 'dp')
    """
    return spec if isinstance(spec, Mechanism | Oracle) else FAMILIES.parse(spec)


@dataclass(frozen=True, eq=False)
class Release:
    """A noisy answer, its mechanism and its cost, without the exact answer.

    `value` has the shape of the exact answer, with a new first axis for several releases. If
    `seeded`, anyone with the seed can reproduce the draws: **not private**.
    """

    value: Any
    mechanism: str
    cost: Guarantee
    seeded: bool = False


def release(
    x: object, mechanism: str | Mechanism, size: int | None = None, rng: Randomness = None
) -> Release:
    """Release an answer once, or `size` times at `size` times the cost.

    Parameters
    ----------
    x
        The exact answer in the form that the mechanism takes: a number or an array for noise,
        scores for selection, codes for randomised response. An array is one query with one
        sensitivity.
    mechanism
        A mechanism, or its spec.
    size
        Number of independent releases, stacked on the first axis; None for one.
    rng
        None for fresh randomness from the operating system. A seed or a generator is for
        experiments: the release is marked as seeded and **not private**.

    Examples
    --------
    >>> release([120, 37, 4], "geometric(epsilon=0.5)", rng=1).cost.epsilon
    0.5
    """
    component = named(mechanism)
    if size is not None and (
        isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1
    ):
        raise ParameterError("The 'size' argument must be None or an integer >= 1.")
    exact = component.check(x)
    count = 1 if size is None else int(size)
    try:
        draws = component.draw(exact, count, generator(rng))
    except ArithmeticError:
        raise ParameterError(
            f"The parameters of {component.name} are too large or too small to compute."
        ) from None
    value = draws if size is not None else draws[0]
    cost = component.guarantee
    return Release(
        value.item() if np.ndim(value) == 0 else value,
        str(component),
        cost if count == 1 else cost.compose(count, cost.unit),
        rng is not None,
    )


def law(mechanism: str | Mechanism, x: object, outputs: object) -> Floats:
    """Return the exact probability of each of `outputs` for the input x, or raise LawError.

    >>> law("geometric(epsilon=0.5)", 10, [10, 11]).round(6).tolist()
    [0.244919, 0.148551]
    """
    component = named(mechanism)
    try:
        return component.law(component.check(x), outputs)
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, VeilError):
            raise
        raise LawError(
            f"The distribution of {component} cannot be computed: its parameters or the outputs"
            " are too large or too small."
        ) from None


_MOST = 1_000  # outputs that are listed


def table_of_law(
    m: Mechanism, numbers: Array, outputs: Array | None = None
) -> list[tuple[list[float], float]]:
    """Return pairs of an output, as a list of numbers, and its exact probability.

    Without `outputs` (k,) or (k, d), list all outputs, or those near a single number; InputError
    if there are too many. A single number is a scalar input unless the mechanism takes rows.

    >>> from veil.dp.mechanisms import mechanism
    >>> table_of_law(mechanism("randomised_response(epsilon=100)"), np.array([1]))[1][0]
    [1]
    """
    single = numbers.size == 1 and not m.rows
    x = m.check(numbers.reshape(()) if single else numbers)
    listed = outcomes(m, x) if outputs is None else outputs
    if single and listed.ndim > 1:
        raise InputError("For a single number, each output must be a single number.")
    chances = m.law(x, listed)
    return [
        (np.atleast_1d(output).tolist(), float(chance))
        for output, chance in zip(listed, chances, strict=True)
    ]


def outcomes(m: Mechanism, x: Array) -> Array:
    """Return all outputs for a checked input, or those near it; InputError if too many."""
    values = m.outcomes(x)
    if not 0 < len(values) <= _MOST:
        raise InputError(
            f"{m.name} has too many outputs to list all. Choose some, for example --output 3."
        )
    return np.array(list(values))
