"""What arrays of reports look like, so that those of others can be checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.dp.local.packed import octets_of

Array = NDArray[Any]
_WRONG = "The reports are not those of {}: {}; ask for them again."


@dataclass(frozen=True)
class Part:
    """An array (n, *shape) of one type, whose columns are from 0 to below their `limits`.

    `spare` is how many bits at the end of a packed row say nothing, and are 0.
    """

    dtype: type[np.integer[Any]]
    shape: tuple[int, ...] = ()
    limits: tuple[int, ...] | None = None
    spare: int = 0

    @property
    def octets(self) -> int:
        """Bytes of one report."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    def check(self, array: Array, n: int, what: str, name: str) -> None:
        """Raise unless an array is what it must be."""
        if array.dtype != self.dtype or array.shape != (n, *self.shape):
            raise InputError(_WRONG.format(name, f"'{what}' has another type or shape"))
        if not n:
            return
        if self.limits is not None:
            limits = np.array(self.limits, dtype=np.uint64)
            high = array.max(axis=0).astype(np.uint64)
            if array.min() < 0 or (high >= limits).any():
                raise InputError(_WRONG.format(name, f"'{what}' has a number out of its range"))
        if self.spare and (array[..., -1] & ((1 << self.spare) - 1)).any():
            raise InputError(_WRONG.format(name, f"'{what}' has bits beyond its width"))


def packed_part(width: int) -> Part:
    """Return rows of packed bits."""
    octets = octets_of(width)
    return Part(np.uint8, (octets,), spare=8 * octets - width)


def code_part(limit: int) -> Part:
    """Return whole numbers from 0 to below a limit."""
    return Part(np.int32 if limit <= 2**31 else np.int64, (), (limit,))
