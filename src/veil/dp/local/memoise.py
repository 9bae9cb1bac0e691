"""Where random bits come from: drawn anew, or the same forever by a key.

The PRF is BLAKE2b with a key of 32 bytes; its bytes feed the same exact comparisons as those of a
generator. Whoever has the key can repeat the bits; who has not cannot tell them from random ones.
Every oracle (with all its parameters) and every question has a key of its own, derived from it.
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
    """Random bits for n rows, exact in any case. `what` tells one use from another."""

    def flips(self, what: str, x: Fraction, width: int) -> Flags:
        """Return (n, width) coins of probability 1/(1 + e^x)."""
        ...

    def below(self, what: str, limits: Sequence[int]) -> Ids:
        """Return (n, len(limits)) uniform whole numbers from 0 to below each limit."""
        ...


class Fresh:
    """Bits of a generator: every call draws anew."""

    def __init__(self, n: int, rng: Generator) -> None:
        self._n, self._rng = n, rng

    def flips(self, what: str, x: Fraction, width: int) -> Flags:
        """Toss coins."""
        del what
        return odds(x, self._n * width, self._rng).reshape(self._n, width)

    def below(self, what: str, limits: Sequence[int]) -> Ids:
        """Draw whole numbers; NumPy rejects, so that they are exactly uniform."""
        del what
        return self._rng.integers(0, np.array(limits), size=(self._n, len(limits)))


def subsets(source: Source, size: int, count: int) -> Ids:
    """Return `count` of the numbers 0..size-1 for each row, every subset as likely, in order.

    Floyd's algorithm: number i of the last `count` is taken if the draw from 0..i is taken
    already, and else the draw.
    """
    limits = range(size - count + 1, size + 1)
    draws = source.below("buckets", limits)
    taken = np.empty_like(draws)
    for at, limit in enumerate(limits):
        there = (taken[:, :at] == draws[:, at : at + 1]).any(axis=1)
        taken[:, at] = np.where(there, limit - 1, draws[:, at])
    taken.sort(axis=1)
    return taken


KEY = 32  # bytes
_CHUNK = 64  # bytes of one BLAKE2b


def check_key(key: object) -> bytes:
    """Return a key of 32 bytes, or raise."""
    if not isinstance(key, bytes | bytearray) or len(key) != KEY:
        raise ParameterError(
            f"The 'key' argument must be {KEY} bytes, kept secret; secrets.token_bytes({KEY})"
            " makes one."
        )
    return bytes(key)


def key_for(key: bytes, spec: str, question: str) -> bytes:
    """Return a key for one question under one oracle, by which nothing of another is told.

    With the same numbers under two epsilons, bits that differ would be the truth for sure.
    """
    try:
        told = [text.encode("utf-8") for text in (spec, question)]
    except (AttributeError, UnicodeError):
        raise ParameterError(
            "The 'question' argument must be a text, without lone surrogates."
        ) from None
    joined = b"".join(len(text).to_bytes(8, "little") + text for text in told)
    return blake2b(joined, key=check_key(key), person=b"question", digest_size=KEY).digest()


def person_bytes(users: Iterable[object]) -> list[bytes]:
    """Return the names of persons as bytes: texts, or whole numbers as they are written."""
    names = users.tolist() if isinstance(users, np.ndarray) else list(users)
    if not all(isinstance(name, str) or _whole(name) for name in names):
        raise InputError("Users must be texts or whole numbers, one for each value.")
    if "" in names:  # of several persons with the same bits, one would tell of the others
        raise InputError("Users must not be empty: leave out the rows whose user is not known.")
    try:
        return [str(name).encode("utf-8") for name in names]
    except UnicodeError:
        raise InputError("Users must be texts without lone surrogates.") from None


def _whole(name: object) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


class Memo:
    """A `Source` whose bits are a function of the key, the person of a row, and their use."""

    def __init__(self, key: bytes, persons: Sequence[bytes]) -> None:
        self._key, self._persons = check_key(key), persons

    def flips(self, what: str, x: Fraction, width: int) -> Flags:
        """Return (n, width) coins of probability 1/(1 + e^x)."""
        return self.bits(what, flip(x), width)

    def bits(
        self, what: str, digits: Digits, width: int, told: NDArray[np.uint64] | None = None
    ) -> Flags:
        """Return (n, width) coins of an exact probability, by `told` (n,) as well, if given."""
        first = self._octets(what, width, 0, told)

        def further(at: Ids, level: int) -> Octets:
            rows, places = np.divmod(at, width)
            wanted, where = np.unique(rows, return_inverse=True)
            return self._octets(what, width, level, told, wanted)[where, places]

        return digits.heads(first, further)

    def below(self, what: str, limits: Sequence[int]) -> Ids:
        """Return (n, len(limits)) uniform whole numbers; 64 bits each, rejected where uneven."""
        highs = np.array(limits, dtype=np.uint64)
        spare = (np.uint64(2**64 - 1) % highs + np.uint64(1)) % highs  # 2^64 mod limit
        drawn = np.empty((len(self._persons), len(limits)), dtype=np.uint64)
        open_, level = np.arange(len(self._persons)), 0
        fine = np.zeros(drawn.shape, dtype=np.bool_)
        while len(open_):
            octets = self._octets(what, 8 * len(limits), level, None, open_)
            words = octets.view("<u8").astype(np.uint64)
            fresh = ~fine[open_]
            drawn[open_] = np.where(fresh, words, drawn[open_])
            fine[open_] |= words <= np.uint64(2**64 - 1) - spare
            open_ = open_[~fine[open_].all(axis=1)]
            level += 1
        return (drawn % highs).astype(np.int64)

    def _octets(
        self,
        what: str,
        count: int,
        level: int,
        told: NDArray[np.uint64] | None,
        rows: Ids | None = None,
    ) -> Octets:
        """Return `count` bytes of the PRF for each row, or for those named."""
        chosen = range(len(self._persons)) if rows is None else rows.tolist()
        values = None if told is None else told.astype("<u8").tobytes()
        blocks = range(-(-count // _CHUNK))
        heads = [level.to_bytes(4, "little") + block.to_bytes(4, "little") for block in blocks]
        person, key = what.encode("ascii"), self._key
        made = bytearray()
        for row in chosen:
            name = self._persons[row]
            tail = len(name).to_bytes(4, "little") + name
            if values is not None:
                tail += values[8 * row : 8 * row + 8]
            for head in heads:
                made += blake2b(head + tail, key=key, person=person).digest()
        table = np.frombuffer(made, dtype=np.uint8).reshape(len(chosen), len(blocks) * _CHUNK)
        return np.ascontiguousarray(table[:, :count])


def read_key(path: Path) -> bytes:
    """Read a key: 32 bytes, or 64 hexadecimal digits; refuse one that others can read."""
    if not path.is_file():
        raise InputError(
            f"There is no key {path}; 'openssl rand -out FILE {KEY}' makes one, to be kept secret."
        )
    if sys.platform != "win32" and path.stat().st_mode & 0o077:
        raise InputError(f"Others can read the key {path}; take that away: chmod 600.")
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
