"""Sequence fragment puzzle: discover unlisted texts by joining fragments."""

from fractions import Fraction
from hashlib import blake2b
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.dp.local.aggregate import Aggregate
from veil.dp.local.hashing import Signs, Words, text_hash
from veil.dp.local.memoise import Memo
from veil.dp.local.oracle import Drawing, TextOracle, local
from veil.dp.local.oracles.cms import HASHES
from veil.dp.local.oracles.hcms import Width, entries, spectral, unflip
from veil.dp.local.packed import Array, Part

LETTERS = 2  # per fragment


def _even(length: int) -> int:
    if length % LETTERS:
        raise PydanticCustomError("even", "must be even")
    return length


def _different(alphabet: str) -> str:
    if len(set(alphabet)) < len(alphabet):
        raise PydanticCustomError("different", "must not repeat letters")
    return alphabet


class SFP(TextOracle):
    r"""Report a fragment with a hash of the whole text, and the whole text, at epsilon/2 each.

    A text is cut, or padded with spaces, to `length`. The fragment is the two letters at a random
    even position, encoded as ``position|piece|letters``, where piece is a one-byte hash of the
    whole text that links its fragments. Both reports use `hcms` at epsilon/2. `veil.dp.discover`
    finds the texts; several thousand clients per text are needed.

    References
    ----------
    Apple Differential Privacy Team. Learning with Privacy at Scale. Apple Machine Learning Journal
    1(8), 2017, Algorithms 8 and 9 (Sequence Fragment Puzzle).
    """

    name: ClassVar[str] = "sfp"
    family: ClassVar[str] = "Sketches"
    epsilon: Annotated[float, Field(gt=0, description="budget of a report", examples=[8.0])]
    length: Annotated[
        int,
        Field(ge=2, le=64, description="letters per text, even; longer texts are cut"),
        AfterValidator(_even),
    ] = 10
    keep: Annotated[int, Field(ge=1, le=1_000, description="fragments kept at each position")] = 20
    hashes: Annotated[int, HASHES] = 64
    width: Width = 1024
    alphabet: Annotated[
        str,
        Field(min_length=1, max_length=128, description="letters to look for, besides space"),
        AfterValidator(_different),
    ] = "abcdefghijklmnopqrstuvwxyz"

    @property
    def guarantee(self) -> Guarantee:
        """Local DP: two reports of epsilon/2 add up."""
        return local(self.epsilon)

    @property
    def places(self) -> range:
        """Positions of fragments."""
        return range(0, self.length, LETTERS)

    @property
    def parts(self) -> tuple[Part, Part | None]:
        """Bits of fragment and text; position, j and l of the fragment, j and l of the text."""
        limits = (self.length, self.hashes, self.width, self.hashes, self.width)
        return Part(np.int8, (2,), (2, 2)), Part(np.int32, (5,), limits)

    def check(self, values: object) -> Array:
        """Return hashes (n, positions + 1) of each fragment and of the text."""
        if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
            raise InputError("Values must be a list of strings, not a single string.")
        cache = _Fragments(self)
        try:
            rows = [cache[value] for value in values]
        except TypeError:  # unhashable values are not strings
            raise InputError("Values must be a list or array of strings.") from None
        return np.array(rows, dtype=np.uint64).reshape(len(rows), len(self.places) + 1)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw a position and two reports per text."""
        del memo
        turns = rng.integers(0, len(self.places), len(x))
        half = Fraction(self.epsilon) / 2
        pieces = x[np.arange(len(x)), turns]
        reports = [spectral(y, half, self.hashes, self.width, rng) for y in (pieces, x[:, -1])]
        positions = (LETTERS * turns).astype(np.int32)[:, None]
        bits = np.stack([bits for bits, _ in reports], axis=1)
        return bits, np.concatenate([positions, *(index for _, index in reports)], axis=1)

    def verify(self, data: Array, index: Array | None) -> None:
        """Check that positions are even as well."""
        super().verify(data, index)
        if index is not None and (index[:, 0] % LETTERS).any():
            raise InputError("These are not reports of sfp: a position is odd.")

    def aggregate(self, targets: Array | None = None) -> "Puzzle":
        """Return empty sketches."""
        del targets
        return Puzzle(self)

    def _codes(self, data: Array, index: Array, a: Array, b: Array) -> Array:
        turns = index[:, 0] // LETTERS
        codes = np.zeros(len(data), dtype=np.int64)
        for bits, x, y, at in (
            (data[:, 0], a[0, turns], b[0, turns], 1),
            (data[:, 1], a[:, -1], b[:, -1], 3),
        ):
            for text in (x, y):
                positive = entries(text, index[:, at], index[:, at + 1], self.width)
                codes = 2 * codes + (bits == positive)
        return codes


class _Fragments(dict[str, tuple[int, ...]]):
    """Cache of the hashes of fragments and whole texts."""

    def __init__(self, oracle: SFP) -> None:
        super().__init__()
        self._oracle = oracle

    def __missing__(self, text: str) -> tuple[int, ...]:
        if not isinstance(text, str):
            raise InputError("Values must be strings. Convert numbers with str() first.")
        whole = pad(text, self._oracle.length)
        number = text_hash(whole)  # rejects texts that cannot be encoded
        piece = piece_of(whole)
        cut = [
            text_hash(fragment(place, piece, whole[place : place + LETTERS]))
            for place in self._oracle.places
        ]
        self[text] = numbers = (*cut, number)
        return numbers


def pad(text: str, length: int) -> str:
    """Cut or pad a text with spaces to `length`."""
    return text[:length].ljust(length)


def piece_of(whole: str) -> int:
    """Return the one-byte hash of a padded text."""
    return blake2b(whole.encode("utf-8"), digest_size=1).digest()[0]


def fragment(place: int, piece: int, letters: str) -> str:
    """Return the encoding of a fragment.

    >>> fragment(2, 17, "la")
    '2|17|la'
    """
    return f"{place}|{piece}|{letters}"


class Puzzle(Aggregate):
    """One sketch of fragments per position, and one of whole texts."""

    def __init__(self, oracle: SFP) -> None:
        super().__init__(oracle)
        scale = unflip(oracle.epsilon / 2)
        self._sketches = [
            Signs(oracle, oracle.hashes, oracle.width, scale)
            for _ in range(len(oracle.places) + 1)
        ]

    def _add(self, data: Array, index: Array) -> None:
        for turn, sketch in enumerate(self._sketches[:-1]):
            rows = np.flatnonzero(index[:, 0] == LETTERS * turn)
            sketch.put(data[rows, 0], index[rows, 1], index[rows, 2])
            sketch.n += len(rows)
        self._sketches[-1].put(data[:, 1], index[:, 3], index[:, 4])
        self._sketches[-1].n += len(data)

    def fragments(self, turn: int, numbers: Words) -> Floats:
        """Return the estimated number of clients that reported each fragment at a position."""
        return self._sketches[turn].look(numbers)[0]

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        return self._sketches[-1].look(targets[:, -1])
