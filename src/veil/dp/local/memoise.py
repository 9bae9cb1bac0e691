"""Sources of random bits: fresh, or derived from a key and the same forever.

The PRF is BLAKE2b with a 32-byte key; its bytes feed the same exact comparisons as those of a
generator. Anyone with the key can reproduce the bits; without it they look random. Every mechanism
(with all its parameters) and every question has a separate derived key.
"""

import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.core.types import Ids
from veil.dp.exact.coins import Digits, Octets, flip, odds

Flags = NDArray[np.bool_]


class Source(Protocol):
    """Exact random bits for n rows; each use has its own label `what`."""

    def flips(self, what: str, x: Fraction, width: int) -> Flags:
        """Return (n, width) coins of probability 1/(1 + e^x)."""
        ...

    def below(self, what: str, limits: Sequence[int]) -> Ids:
        """Return (n, len(limits)) uniform integers from 0 to below each limit."""
        ...


class Fresh:
    """A `Source` of fresh bits from a generator."""

    def __init__(self, n: int, rng: Generator) -> None:
        self._n, self._rng = n, rng

    def flips(self, what: str, x: Fraction, width: int) -> Flags:
        """Toss (n, width) coins of probability 1/(1 + e^x)."""
        del what
        return odds(x, self._n * width, self._rng).reshape(self._n, width)

    def below(self, what: str, limits: Sequence[int]) -> Ids:
        """Draw integers, exactly uniform because NumPy uses rejection sampling."""
        del what
        return self._rng.integers(0, np.array(limits), size=(self._n, len(limits)))


def subsets(source: Source, size: int, count: int) -> Ids:
    """Return a uniform subset of `count` of the numbers 0..size-1 for each row, sorted.

    Floyd's algorithm: for each i of the last `count` numbers, add the draw from 0..i, or i itself
    if the draw is in the subset already.
    """
    limits = range(size - count + 1, size + 1)
    draws = source.below("buckets", limits)
    taken = np.empty_like(draws)
    for at, limit in enumerate(limits):
        present = (taken[:, :at] == draws[:, at : at + 1]).any(axis=1)
        taken[:, at] = np.where(present, limit - 1, draws[:, at])
    taken.sort(axis=1)
    return taken


KEY = 32  # bytes
_CHUNK = 64  # bytes of one BLAKE2b


def check_key(key: object) -> bytes:
    """Return the key if it has 32 bytes, else raise ParameterError."""
    if not isinstance(key, bytes | bytearray) or len(key) != KEY:
        raise ParameterError(
            f"The 'key' argument must be {KEY} secret bytes. Create one with"
            f" secrets.token_bytes({KEY})."
        )
    return bytes(key)


def key_for(key: bytes, spec: str, question: str) -> bytes:
    """Return the derived key for one question and one mechanism.

    If two epsilons shared random numbers, any differing bits would reveal the truth.
    """
    try:
        parts = [text.encode("utf-8") for text in (spec, question)]
    except (AttributeError, UnicodeError):
        raise ParameterError(
            "The 'question' argument must be a string without lone surrogates."
        ) from None
    joined = b"".join(len(text).to_bytes(8, "little") + text for text in parts)
    return blake2b(joined, key=check_key(key), person=b"question", digest_size=KEY).digest()


def person_bytes(users: Iterable[object]) -> list[bytes]:
    """Return user names, strings or integers, as bytes."""
    names = users.tolist() if isinstance(users, np.ndarray) else list(users)
    if not all(isinstance(name, str) or _whole(name) for name in names):
        raise InputError("Users must be strings or integers, one per value.")
    if "" in names:  # persons who share bits would reveal each other
        raise InputError("Users must not be empty. Remove rows with an unknown user.")
    try:
        return [str(name).encode("utf-8") for name in names]
    except UnicodeError:
        raise InputError("Users must be strings without lone surrogates.") from None


def _whole(name: object) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


class Memo:
    """A `Source` whose bits depend only on the key, the person of the row, and the label."""

    def __init__(self, key: bytes, persons: Sequence[bytes]) -> None:
        self._key, self._persons = check_key(key), persons

    def flips(self, what: str, x: Fraction, width: int) -> Flags:
        """Return (n, width) coins of probability 1/(1 + e^x)."""
        return self.bits(what, flip(x), width)

    def bits(
        self, what: str, digits: Digits, width: int, salt: NDArray[np.uint64] | None = None
    ) -> Flags:
        """Return (n, width) coins of an exact probability; `salt` (n,) also enters the hash."""
        first = self._octets(what, width, 0, salt)

        def further(at: Ids, level: int) -> Octets:
            rows, places = np.divmod(at, width)
            persons, where = np.unique(rows, return_inverse=True)
            return self._octets(what, width, level, salt, persons)[where, places]

        return digits.heads(first, further)

    def below(self, what: str, limits: Sequence[int]) -> Ids:
        """Return (n, len(limits)) uniform integers, by rejection of 64-bit words."""
        highs = np.array(limits, dtype=np.uint64)
        spare = (np.uint64(2**64 - 1) % highs + np.uint64(1)) % highs  # 2^64 mod limit
        numbers = np.empty((len(self._persons), len(limits)), dtype=np.uint64)
        open_, level = np.arange(len(self._persons)), 0
        fine = np.zeros(numbers.shape, dtype=np.bool_)
        while len(open_):
            octets = self._octets(what, 8 * len(limits), level, None, open_)
            words = octets.view("<u8").astype(np.uint64)
            fresh = ~fine[open_]
            numbers[open_] = np.where(fresh, words, numbers[open_])
            fine[open_] |= words <= np.uint64(2**64 - 1) - spare
            open_ = open_[~fine[open_].all(axis=1)]
            level += 1
        return (numbers % highs).astype(np.int64)

    def _octets(
        self,
        what: str,
        count: int,
        level: int,
        salt: NDArray[np.uint64] | None,
        rows: Ids | None = None,
    ) -> Octets:
        """Return `count` bytes of the PRF for each row, or for each of `rows`."""
        indices = range(len(self._persons)) if rows is None else rows.tolist()
        values = None if salt is None else salt.astype("<u8").tobytes()
        blocks = range(-(-count // _CHUNK))
        heads = [level.to_bytes(4, "little") + block.to_bytes(4, "little") for block in blocks]
        person, key = what.encode("ascii"), self._key
        stream = bytearray()
        for row in indices:
            name = self._persons[row]
            tail = len(name).to_bytes(4, "little") + name
            if values is not None:
                tail += values[8 * row : 8 * row + 8]
            for head in heads:
                stream += blake2b(head + tail, key=key, person=person).digest()
        table = np.frombuffer(stream, dtype=np.uint8).reshape(len(indices), len(blocks) * _CHUNK)
        return np.ascontiguousarray(table[:, :count])


def read_key(path: Path) -> bytes:
    """Read a key of 32 bytes or 64 hexadecimal digits; reject a file that others can read."""
    if not path.is_file():
        raise InputError(
            f"Key file {path} does not exist. Create a secret one: openssl rand -out FILE {KEY}."
        )
    if sys.platform != "win32" and path.stat().st_mode & 0o077:
        raise InputError(f"Other users can read the key {path}. Run: chmod 600 '{path}'.")
    with path.open("rb") as file:
        octets = file.read(4 * KEY)
    if len(octets) == KEY:
        return octets
    try:
        key = bytes.fromhex(octets.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY:
        raise InputError(f"The key {path} must be {KEY} bytes, or {2 * KEY} hexadecimal digits.")
    return key
