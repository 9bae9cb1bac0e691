"""The contract of central mechanisms: draws, distribution, guarantee and audit."""

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
REPLACED = "Replacing a record is removing one and adding one: epsilon is then twice as large."
AROUND = 8  # outputs listed on either side of a number
_LARGEST = 2**62

Array = NDArray[Any]  # of any type that a mechanism takes or returns


@lru_cache(maxsize=256)
def pure_guarantee(epsilon: float, delta: float = 0.0, caveat: str = "") -> Guarantee:
    """Return the (epsilon, delta)-DP guarantee of one release, adding or removing a record."""
    text = f"{caveat} {REPLACED}".strip()
    return Guarantee("dp", epsilon, unit="record", delta=delta, neighbours=ADD_REMOVE, caveat=text)


class Mechanism(Component):
    """Maps an exact answer to a noisy one.

    `family` groups similar mechanisms in reports. Draws use only `veil.dp.exact`. `answers` is
    "count" if the mechanism maps an integer, the count of a set of records, to a number near it:
    planes and studies of counts accept such mechanisms. It is empty otherwise. `rows` is True if
    the input is always a row of numbers, even of one number.
    """

    family: ClassVar[str] = "Other"
    answers: ClassVar[Literal["", "count"]] = ""
    rows: ClassVar[bool] = False

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The proved guarantee of one release, when one record is added or removed."""

    @abstractmethod
    def check(self, x: object) -> Array:
        """Return a valid input as an array of the right type, or raise InputError."""

    @abstractmethod
    def draw(self, x: Array, size: int, rng: Generator) -> Array:
        """Draw `size` independent releases of a checked input, stacked on axis 0."""

    def law(self, x: Array, outputs: object) -> Floats:
        """Return the exact probability of each output for a checked input."""
        del x, outputs
        raise LawError(f"{self.name} has no distribution in closed form.")

    def outcomes(self, x: Array) -> Sequence[Any]:
        """Return all outputs for a checked input, or those near it; () if not listable."""
        del x
        return ()

    @abstractmethod
    def pairs(self) -> Sequence[tuple[object, object]]:
        """Return pairs of neighbouring inputs for audits."""

    def codes(self, outputs: Array) -> Ids:
        """Return the outputs (n, ...) of `draw` as integers (n,), for the events of an audit."""
        return outputs.reshape(len(outputs), -1)[:, 0].astype(np.int64)

    @property
    def published(self) -> float:
        """The epsilon that audits test: that of the guarantee, unless another was published."""
        return self.guarantee.epsilon


def whole(x: object, what: str) -> Ids:
    """Return integers of at most 2^62 in magnitude, in any shape; reject booleans and floats."""
    if type(x) is int and abs(x) <= _LARGEST:
        return np.array(x, dtype=np.int64)
    array = numeric(x, what)
    if array.dtype == object and array.size and all(type(value) is int for value in array.flat):
        raise InputError(f"{what} takes integers of at most 2^62.")
    if not np.issubdtype(array.dtype, np.integer) or not array.size:
        raise InputError(
            f"{what} takes one or more integers, not booleans, strings or fractions. Convert the"
            " values first, or use laplace."
        )
    if max(abs(int(array.min())), abs(int(array.max()))) > _LARGEST:
        raise InputError(f"{what} takes integers of at most 2^62.")
    return array.astype(np.int64)


def numeric(x: object, what: str) -> Array:
    """Return the input as an array; reject ragged rows and lists that contain booleans."""
    mixed = isinstance(x, list | tuple) and any(isinstance(value, bool | np.bool_) for value in x)
    try:
        array = np.asarray(x)
    except (ValueError, TypeError):
        array = None
    if array is None or mixed:
        raise InputError(f"{what} takes numbers in rows of equal length, not booleans.")
    return array


def real(x: object, what: str) -> Floats:
    """Return finite numbers, in any shape; reject booleans."""
    if (type(x) is float and math.isfinite(x)) or (type(x) is int and abs(x) <= _LARGEST):
        return np.array(x, dtype=np.float64)
    array = numeric(x, what)
    kinds = (np.integer, np.floating)
    if not any(np.issubdtype(array.dtype, kind) for kind in kinds) or not array.size:
        raise InputError(f"{what} takes one or more numbers, not booleans or strings.")
    values: Floats = array.astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"{what} takes finite numbers.")
    return values


def add(x: Ids, noise: Ids) -> Ids:
    """Add noise to integers, or raise InputError if a sum might overflow."""
    if noise.size and _furthest(noise) > _LARGEST:
        raise InputError("The noise is too large for 64-bit integers. Increase 'epsilon'.")
    return x + noise


def _furthest(noise: Ids) -> int:
    return abs(int(noise.item())) if noise.size == 1 else int(np.abs(noise).max())


def flat_outputs(x: Array, outputs: object, kind: type[np.generic]) -> Array:
    """Return outputs as (k, x.size): one per row, flattened."""
    rows = whole_outputs(outputs) if kind is np.int64 else real(outputs, "A law")
    if x.ndim == 0 or rows.ndim == x.ndim:
        rows = rows.reshape(-1, *x.shape) if x.ndim == 0 else rows[None]
    if rows.shape[1:] != x.shape:
        raise InputError("Outputs must have the shape of the input, one output per row.")
    return rows.reshape(len(rows), -1)


def whole_outputs(outputs: object) -> Ids:
    """Return integer outputs, which may be written as floats."""
    array = numeric(outputs, "A law")
    if np.issubdtype(array.dtype, np.floating) and array.size:
        if not (np.abs(array) <= _LARGEST).all() or not (array == np.floor(array)).all():
            raise InputError("The outputs of this mechanism are integers of at most 2^62.")
        array = array.astype(np.int64)
    return whole(array, "A law")
