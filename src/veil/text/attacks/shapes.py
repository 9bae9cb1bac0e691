"""Shapes and slots: the parts of a text that stay visible when a word mechanism releases it.

The shape of a text is its layout, split at white space, with ``%s`` for each word that is
replaced. Kept words and punctuation are part of the shape. All variants of a text have its shape,
so the words in a slot can be collected over the variants.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Ids
from veil.text.attack import Scene
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.policy import Planner
from veil.text.vectors.embeddings import Embeddings

Shape = tuple[str, ...]
_ONE_BY_ONE = ("all", "content")  # selections that depend on one word only
_MAX_PIECES = 2**18  # cached while many texts are read
_LONG = 256  # longer templates are not cached, because they occur only once


@dataclass(frozen=True, slots=True)
class ShapedText:
    """A text as the mechanism reads it: its shape, and the word ids (-1: unknown) of its slots."""

    shape: Shape
    ids: tuple[int, ...]


class ShapeReader:
    """Reads texts as a mechanism does, and variants as an attacker who knows the mechanism."""

    def __init__(self, space: Embeddings, select: str) -> None:
        self.space, self.select = space, select
        self._planner = Planner(space, select, "random", {})

    def read(self, text: str) -> ShapedText:
        """Return shape and words of a text, with case folded."""
        plan = self._planner.plan(text)
        return ShapedText(tuple(plan.layout.casefold().split()), tuple(plan.ids))

    def many(self) -> Callable[[str], ShapedText]:
        """Return `read` for many texts, with a cache of pieces if that gives the same result.

        It does if words are selected one by one, independently of their neighbours.
        """
        if self.select not in _ONE_BY_ONE:
            return self.read
        cache: dict[str, ShapedText] = {}

        def of_piece(piece: str) -> ShapedText:
            reading = cache.get(piece)
            if reading is None:
                reading = self.read(piece)
                if len(cache) < _MAX_PIECES:
                    cache[piece] = reading
            return reading

        def read(text: str) -> ShapedText:
            readings = [of_piece(piece) for piece in text.split()]
            return ShapedText(
                tuple(template for piece in readings for template in piece.shape),
                tuple(number for piece in readings for number in piece.ids),
            )

        return read

    def seen(self, shape: Shape, variants: Sequence[Sequence[str]]) -> Ids | None:
        """Return the words (N, slots) of variants, split by `chunks`, in the slots of a shape.

        A word is -1 if the vectors do not know it, or if it cannot be separated from its neighbour
        in the same piece. Returns None if a variant does not have the shape.
        """
        rows = []
        for variant in variants:
            words = _match(shape, variant)
            if words is None:
                return None
            rows.append([self.space.id(word) for word in words])
        width = sum(map(slots_in, shape))
        return np.array(rows, dtype=np.int64).reshape(len(variants), width)


def reader(mechanism: WordMechanism, space: Embeddings, select: str) -> ShapeReader:
    """Return the reader for a mechanism. An empty `select` means the mechanism's default."""
    return ShapeReader(space, select or mechanism.select)


def space_of(scene: Scene, name: str) -> Embeddings:
    """Return the word vectors of a scene, or raise an error if there are none."""
    if scene.space is None:
        raise ParameterError(f"The {name} attacker needs the word vectors: give space=.")
    return scene.space


def word_mechanism(scene: Scene, name: str) -> WordMechanism:
    """Return the mechanism of a scene, or raise an error unless it replaces words."""
    if scene.mechanism is None:
        raise ParameterError(f"The {name} attacker needs the mechanism: give mechanism=.")
    if not isinstance(scene.mechanism, WordMechanism):
        raise ParameterError(
            f"The {name} attacker needs a mechanism that replaces words, but"
            f" {scene.mechanism.name} rewrites whole queries; use the inference attacker."
        )
    return scene.mechanism


def chunks(variants: Iterable[str]) -> list[list[str]]:
    """Split variants at white space, and drop those with an unusual number of pieces.

    A drawn word may contain a space. The slots of such a variant are not known.
    """
    cut = [variant.split() for variant in variants]
    if not cut:
        return []
    (usual, _), *_ = Counter(map(len, cut)).most_common(1)
    return [pieces for pieces in cut if len(pieces) == usual]


def _match(shape: Shape, variant: Sequence[str]) -> list[str] | None:
    """Return the words of a variant in the slots of a shape, or None if it has another shape."""
    if len(shape) != len(variant):
        return None
    words: list[str] = []
    for template, piece in zip(shape, variant, strict=True):
        if template == "%s":
            words.append(piece)
            continue
        first, last = (_extract(template, piece, lazy) for lazy in (True, False))
        if first is None or last is None:
            return None
        words += first if first == last else [""] * len(first)  # a-b-c: (a)-(b-c) or (a-b)-(c)?
    return words


def _extract(template: str, piece: str, lazy: bool) -> tuple[str, ...] | None:
    """Return the words of a piece, with the first words as short or as long as possible."""
    pattern = _pattern(template, lazy)
    match = pattern.fullmatch(piece) or pattern.fullmatch(piece.casefold())
    return None if match is None else match.groups()


def slots_in(template: str) -> int:
    """Return the number of slots in a piece of a shape."""
    return template.replace("%%", "").count("%s")


def _pattern(template: str, lazy: bool) -> re.Pattern[str]:
    return _cached_compile(template, lazy) if len(template) <= _LONG else _compile(template, lazy)


@lru_cache(maxsize=65_536)
def _cached_compile(template: str, lazy: bool) -> re.Pattern[str]:
    return _compile(template, lazy)


def _compile(template: str, lazy: bool) -> re.Pattern[str]:
    parts = re.split(r"(%s|%%)", template)
    word = "(.+?)" if lazy else "(.+)"
    pattern = "".join({"%s": word, "%%": "%"}.get(part, re.escape(part)) for part in parts)
    return re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Slot:
    """A word that was replaced: its text, its true id (-1: unknown), and the words seen (N,).

    `truth` is only for scoring; the attack uses `seen`.
    """

    text: int
    truth: int
    seen: Ids


def slots(scene: Scene, name: str, select: str) -> Iterator[Slot]:
    """Yield the slots of all texts, with the words of the variants in each.

    The slots are taken from the text itself. Many variants reveal them, because their words
    change, but one or two may not distinguish a kept word from a drawn one. The attacker is
    assumed to know the slots.
    """
    space = space_of(scene, name)
    reading = reader(word_mechanism(scene, name), space, select)
    for number, (row, text) in enumerate(zip(scene.variants, scene.originals, strict=True)):
        read = reading.read(text)
        words = reading.seen(read.shape, chunks(row))
        if words is None:
            raise ParameterError(
                f"The variants of text {number + 1} do not fit its slots, as the {name} attacker"
                " needs. Give the mechanism and the 'select' that made them."
            )
        for slot, truth in enumerate(read.ids):
            column = words[:, slot]
            yield Slot(number, truth, column[column >= 0])
