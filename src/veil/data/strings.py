"""Many strings in two arrays: a million of them take the room of their letters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Ids

_CHUNK = 4096


class Strings(Sequence[str]):
    """A sequence of strings, decoded when asked for; the arrays may be memory-mapped.

    >>> many = Strings.of(["skin", "", "Bänder"])
    >>> len(many), many[2], list(many)
    (3, 'Bänder', ['skin', '', 'Bänder'])
    """

    def __init__(self, blob: NDArray[np.uint8], offsets: Ids) -> None:
        self.blob = blob
        self.offsets = offsets  # (n + 1,)

    @classmethod
    def of(cls, strings: Iterable[str]) -> "Strings":
        """Pack strings."""
        builder = StringsBuilder()
        for string in strings:
            builder.add(string)
        return builder.done()

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the two arrays by their names on disk."""
        return {f"{name}-blob": self.blob, f"{name}-offsets": self.offsets}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> "Strings":
        """Put strings together from their two arrays."""
        return cls(arrays[f"{name}-blob"], arrays[f"{name}-offsets"])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> list[str]: ...
    def __getitem__(self, position: int | slice) -> str | list[str]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(position)
        start, end = self.offsets[position % len(self) :][:2]
        return bytes(self.blob[start:end]).decode()

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _CHUNK):
            cuts = np.asarray(self.offsets[first : first + _CHUNK + 1])
            data = bytes(self.blob[cuts[0] : cuts[-1]])
            for start, end in pairwise((cuts - cuts[0]).tolist()):
                yield data[start:end].decode()

    def __reduce__(self) -> tuple[Any, ...]:
        return Strings, (np.asarray(self.blob), np.asarray(self.offsets))


class StringsBuilder:
    """Takes strings one by one."""

    def __init__(self) -> None:
        self._blob = bytearray()
        self._ends = [0]

    def add(self, string: str) -> None:
        """Add one string."""
        try:
            self._blob += string.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"String {len(self._ends):,} has a lone surrogate, which is not text; decode the"
                " input with the right encoding."
            ) from None
        self._ends.append(len(self._blob))

    def done(self) -> Strings:
        """Return what was added."""
        return Strings(
            np.frombuffer(bytes(self._blob), dtype=np.uint8), np.array(self._ends, dtype=np.int64)
        )
