"""Sequence fragment puzzle: texts that nobody listed are put together from pieces."""

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

LETTERS = 2  # of a fragment


def _even(length: int) -> int:
    if length % LETTERS:
        raise PydanticCustomError("even", "must be even")
    return length


def _different(alphabet: str) -> str:
    if len(set(alphabet)) < len(alphabet):
        raise PydanticCustomError("different", "must have every letter once")
    return alphabet


class SFP(TextOracle):
    r"""Report a fragment of the text with a mark of the whole, and the whole, by half each.

    A text is cut, or padded with spaces, to `length`. The fragment is the two letters at a random
    even position, written as ``position|piece|letters``, where piece is a hash of the whole text
    of one byte, by which fragments are put together again. Both reports are of `hcms` at
    epsilon/2. `veil.dp.discover` finds the texts; several thousand clients per text are needed.

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
        Field(ge=2, le=64, description="letters of a text, even; longer ones are cut"),
        AfterValidator(_even),
    ] = 10
    keep: Annotated[int, Field(ge=1, le=1_000, description="fragments kept at each position")] = 20
    hashes: Annotated[int, HASHES] = 64
    width: Width = 1024
    alphabet: Annotated[
        str,
        Field(min_length=1, max_length=128, description="letters that are looked for, and space"),
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
        """Bits of fragment and text; the fragment's position, j and l, and the text's j and l."""
        limits = (self.length, self.hashes, self.width, self.hashes, self.width)
        return Part(np.int8, (2,), (2, 2)), Part(np.int32, (5,), limits)

    def check(self, values: object) -> Array:
        """Return (n, positions + 1) numbers: of each fragment, and of the text."""
        if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
            raise InputError("Values must be a list of texts, not one text.")
        known = _Fragments(self)
        try:
            rows = [known[value] for value in values]
        except TypeError:  # what cannot be a key is no text either
            raise InputError("Values must be texts, in a list or an array.") from None
        return np.array(rows, dtype=np.uint64).reshape(len(rows), len(self.places) + 1)

    def draw(self, x: Array, rng: Generator, memo: Memo | None = None) -> Drawing:
        """Draw a position each, and two reports."""
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
            raise InputError("The reports are not those of sfp: a position is odd.")

    def aggregate(self, targets: Array | None = None) -> "Puzzle":
        """Return empty sketches."""
        del targets
        return Puzzle(self)

    def _codes(self, data: Array, index: Array, one: Array, other: Array) -> Array:
        turns = index[:, 0] // LETTERS
        codes = np.zeros(len(data), dtype=np.int64)
        for bits, x, y, at in (
            (data[:, 0], one[0, turns], other[0, turns], 1),
            (data[:, 1], one[:, -1], other[:, -1], 3),
        ):
            for text in (x, y):
                there = entries(text, index[:, at], index[:, at + 1], self.width)
                codes = 2 * codes + (bits == there)
        return codes


class _Fragments(dict[str, tuple[int, ...]]):
    """Numbers of the fragments and of the whole of texts, each computed once."""

    def __init__(self, oracle: SFP) -> None:
        super().__init__()
        self._oracle = oracle

    def __missing__(self, text: str) -> tuple[int, ...]:
        if not isinstance(text, str):
            raise InputError("Values must be texts; convert numbers with str() first.")
        whole = pad(text, self._oracle.length)
        number = text_hash(whole)  # which refuses what cannot be written
        piece = piece_of(whole)
        cut = [
            text_hash(fragment(place, piece, whole[place : place + LETTERS]))
            for place in self._oracle.places
        ]
        self[text] = made = (*cut, number)
        return made


def pad(text: str, length: int) -> str:
    """Cut or pad a text."""
    return text[:length].ljust(length)


def piece_of(whole: str) -> int:
    """Return the mark of a padded text, of one byte."""
    return blake2b(whole.encode("utf-8"), digest_size=1).digest()[0]


def fragment(place: int, piece: int, letters: str) -> str:
    """Write a fragment.

    >>> fragment(2, 17, "la")
    '2|17|la'
    """
    return f"{place}|{piece}|{letters}"


class Puzzle(Aggregate):
    """A sketch of fragments for each position, and one of whole texts."""

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
        """Estimate how many clients reported each fragment of a position."""
        return self._sketches[turn].look(numbers)[0]

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        return self._sketches[-1].look(targets[:, -1])
