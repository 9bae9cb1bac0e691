"""What every mechanism declares: how it draws, its law, what is proved, and how it is audited."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.component import Component
from veil.core.errors import InputError, LawError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids

ADD_REMOVE = "add or remove one record"
REPLACED = "To replace a record is to remove one and to add one: epsilon is then twice as large."
AROUND = 8  # outputs that are listed on either side of a number
_LARGEST = 2**62

Array = NDArray[Any]  # of the kind that a mechanism takes or gives


@lru_cache(maxsize=256)
def pure_guarantee(epsilon: float, delta: float = 0.0, caveat: str = "") -> Guarantee:
    """Return that one release is (epsilon, delta)-DP when a record is added or removed."""
    told = f"{caveat} {REPLACED}".strip()
    return Guarantee("dp", epsilon, unit="record", delta=delta, neighbours=ADD_REMOVE, caveat=told)


class Mechanism(Component):
    """Maps an exact answer to a noisy one.

    `family` groups mechanisms that work alike, in reports. Draws use `veil.dp.exact` alone.
    `answers` says which question a mechanism can answer: "count" if it takes a whole number, the
    count of a set of records, and gives a number near it, so that planes and studies of counts
    take it; empty if it answers others. `rows` says that its input is always a row of numbers,
    also if there is only one.
    """

    family: ClassVar[str] = "Other"
    answers: ClassVar[Literal["", "count"]] = ""
    rows: ClassVar[bool] = False

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proved of one release, when one record is added or removed."""

    @abstractmethod
    def check(self, x: object) -> Array:
        """Return an input as an array of the kind that is needed, or raise InputError."""

    @abstractmethod
    def draw(self, x: Array, size: int, rng: Generator) -> Array:
        """Draw `size` independent releases of a checked input, stacked on axis 0."""

    def law(self, x: Array, outputs: object) -> Floats:
        """Return the exact probability of each output for a checked input."""
        del x, outputs
        raise LawError(f"{self.name} has no law in closed form.")

    def outcomes(self, x: Array) -> Sequence[Any]:
        """Return all outputs for a checked input, or those around it; () if they have no end."""
        del x
        return ()

    @abstractmethod
    def pairs(self) -> Sequence[tuple[object, object]]:
        """Return neighbouring inputs that an audit tells apart."""

    def codes(self, outputs: Array) -> Ids:
        """Return the outputs (n, ...) of `draw` as whole numbers (n,), for events of an audit."""
        return outputs.reshape(len(outputs), -1)[:, 0].astype(np.int64)

    @property
    def published(self) -> float:
        """The epsilon that an audit holds against it."""
        return self.guarantee.epsilon


def whole(x: object, what: str) -> Ids:
    """Return whole numbers of at most 2^62, in any shape; no truth values, no floats."""
    if type(x) is int and abs(x) <= _LARGEST:
        return np.array(x, dtype=np.int64)
    given = numeric(x, what)
    if given.dtype == object and given.size and all(type(one) is int for one in given.flat):
        raise InputError(f"{what} takes whole numbers of at most 2^62.")
    if not np.issubdtype(given.dtype, np.integer) or not given.size:
        raise InputError(
            f"{what} takes whole numbers, at least one; truth values, texts and numbers with a"
            " fraction are not. Convert them first, or use laplace."
        )
    if max(abs(int(given.min())), abs(int(given.max()))) > _LARGEST:
        raise InputError(f"{what} takes whole numbers of at most 2^62.")
    return given.astype(np.int64)


def numeric(x: object, what: str) -> Array:
    """Return an array of numbers of one shape; a truth value among numbers is none."""
    mixed = isinstance(x, list | tuple) and any(isinstance(one, bool | np.bool_) for one in x)
    try:
        given = np.asarray(x)
    except (ValueError, TypeError):
        given = None
    if given is None or mixed:
        raise InputError(f"{what} takes numbers in rows of one length; truth values are none.")
    return given


def real(x: object, what: str) -> Floats:
    """Return finite numbers, in any shape; no truth values."""
    if (type(x) is float and math.isfinite(x)) or (type(x) is int and abs(x) <= _LARGEST):
        return np.array(x, dtype=np.float64)
    given = numeric(x, what)
    kinds = (np.integer, np.floating)
    if not any(np.issubdtype(given.dtype, kind) for kind in kinds) or not given.size:
        raise InputError(f"{what} takes numbers, at least one; truth values and texts are not.")
    values: Floats = given.astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"{what} takes finite numbers.")
    return values


def add(x: Ids, noise: Ids) -> Ids:
    """Add noise to whole numbers, or refuse where a sum would not fit."""
    if noise.size and _furthest(noise) > _LARGEST:
        raise InputError("The noise is too large for whole numbers of 64 bits.")
    return x + noise


def _furthest(noise: Ids) -> int:
    return abs(int(noise.item())) if noise.size == 1 else int(np.abs(noise).max())


def flat_outputs(x: Array, outputs: object, kind: type[np.generic]) -> Array:
    """Return outputs as (k, x.size): one per row, of the shape of the input."""
    given = whole_outputs(outputs) if kind is np.int64 else real(outputs, "A law")
    if x.ndim == 0 or given.ndim == x.ndim:
        given = given.reshape(-1, *x.shape) if x.ndim == 0 else given[None]
    if given.shape[1:] != x.shape:
        raise InputError("Outputs must have the shape of the input, one output in each row.")
    return given.reshape(len(given), -1)


def whole_outputs(outputs: object) -> Ids:
    """Return outputs that are whole numbers, also where they are written as floats."""
    given = numeric(outputs, "A law")
    if np.issubdtype(given.dtype, np.floating) and given.size:
        if not (np.abs(given) <= _LARGEST).all() or not (given == np.floor(given)).all():
            raise InputError("The outputs of this mechanism are whole numbers of at most 2^62.")
        given = given.astype(np.int64)
    return whole(given, "A law")
