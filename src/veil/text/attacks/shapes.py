"""What stays visible of a text that a word mechanism released: its shape and its slots.

The shape of a text is its layout, cut at white space, with ``%s`` for each word that is replaced;
words that are kept, and punctuation, stand in it as they are. All variants of a text have its
shape, so that the words seen in one slot can be gathered over the variants.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Ids
from veil.text.attacks.attack import Scene
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.policy import Planner
from veil.text.vectors.embeddings import Embeddings

Shape = tuple[str, ...]
_ONE_BY_ONE = ("all", "content")  # choices that look at one word only
_PIECES = 2**18  # held while many texts are read
_LONG = 256  # letters of a template that is not worth keeping: it comes once


@dataclass(frozen=True, slots=True)
class ShapedText:
    """A text as the mechanism takes it: its shape, and the words (-1: unknown) in its slots."""

    shape: Shape
    ids: tuple[int, ...]


class ShapeReader:
    """Reads texts as a mechanism does, and variants as one who knows the mechanism does."""

    def __init__(self, space: Embeddings, select: str) -> None:
        self.space, self.select = space, select
        self._planner = Planner(space, select, "random", {})

    def read(self, text: str) -> ShapedText:
        """Return shape and words of a text; case is folded."""
        plan = self._planner.plan(text)
        return ShapedText(tuple(plan.layout.casefold().split()), tuple(plan.ids))

    def many(self) -> Callable[[str], ShapedText]:
        """Return `read` for many texts: pieces that come again are read once, where that will do.

        It will where words are selected one by one, whatever stands beside them.
        """
        if self.select not in _ONE_BY_ONE:
            return self.read
        known: dict[str, ShapedText] = {}

        def of_piece(piece: str) -> ShapedText:
            found = known.get(piece)
            if found is None:
                found = self.read(piece)
                if len(known) < _PIECES:
                    known[piece] = found
            return found

        def read(text: str) -> ShapedText:
            found = [of_piece(piece) for piece in text.split()]
            return ShapedText(
                tuple(template for piece in found for template in piece.shape),
                tuple(number for piece in found for number in piece.ids),
            )

        return read

    def seen(self, shape: Shape, variants: Sequence[Sequence[str]]) -> Ids | None:
        """Return the words (N, slots) of variants, cut by `chunks`, in the slots of a shape.

        A word that the vectors do not know, or that cannot be told from its neighbour in the same
        piece, is -1. None if a variant does not have that shape.
        """
        found = []
        for variant in variants:
            words = _match(shape, variant)
            if words is None:
                return None
            found.append([self.space.id(word) for word in words])
        width = sum(map(slots_in, shape))
        return np.array(found, dtype=np.int64).reshape(len(variants), width)


def reader(mechanism: WordMechanism, space: Embeddings, select: str) -> ShapeReader:
    """Return the reader for a mechanism; an empty `select` is the mechanism's own choice."""
    return ShapeReader(space, select or mechanism.select)


def space_of(scene: Scene, name: str) -> Embeddings:
    """Return the word vectors of a scene that cannot do without."""
    if scene.space is None:
        raise ParameterError(f"The {name} attacker needs the word vectors: give space=.")
    return scene.space


def word_mechanism(scene: Scene, name: str) -> WordMechanism:
    """Return the mechanism of a scene, which must be one that replaces words."""
    if scene.mechanism is None:
        raise ParameterError(f"The {name} attacker needs the mechanism: give mechanism=.")
    if not isinstance(scene.mechanism, WordMechanism):
        raise ParameterError(
            f"The {name} attacker needs a mechanism that replaces words, but"
            f" {scene.mechanism.name} rewrites whole queries; use the inference attacker."
        )
    return scene.mechanism


def chunks(variants: Iterable[str]) -> list[list[str]]:
    """Cut variants at white space, and leave out those with an unusual number of pieces.

    A drawn word may hold a space; where that shows, the variant says nothing about slots.
    """
    cut = [variant.split() for variant in variants]
    if not cut:
        return []
    (usual, _), *_ = Counter(map(len, cut)).most_common(1)
    return [pieces for pieces in cut if len(pieces) == usual]


def _match(shape: Shape, variant: Sequence[str]) -> list[str] | None:
    """Return the words of a variant in the slots of a shape, or None if it has another."""
    if len(shape) != len(variant):
        return None
    words: list[str] = []
    for template, piece in zip(shape, variant, strict=True):
        if template == "%s":
            words.append(piece)
            continue
        first, last = (_found(template, piece, lazy) for lazy in (True, False))
        if first is None or last is None:
            return None
        words += first if first == last else [""] * len(first)  # a-b-c: (a)-(b-c) or (a-b)-(c)?
    return words


def _found(template: str, piece: str, lazy: bool) -> tuple[str, ...] | None:
    """Return the words of a piece, the first ones as short as can be, or as long."""
    pattern = _pattern(template, lazy)
    found = pattern.fullmatch(piece) or pattern.fullmatch(piece.casefold())
    return None if found is None else found.groups()


def slots_in(template: str) -> int:
    """Return how many words stand in a piece of a shape."""
    return template.replace("%%", "").count("%s")


def _pattern(template: str, lazy: bool) -> re.Pattern[str]:
    return _kept(template, lazy) if len(template) <= _LONG else _made(template, lazy)


@lru_cache(maxsize=65_536)
def _kept(template: str, lazy: bool) -> re.Pattern[str]:
    return _made(template, lazy)


def _made(template: str, lazy: bool) -> re.Pattern[str]:
    parts = re.split(r"(%s|%%)", template)
    word = "(.+?)" if lazy else "(.+)"
    pattern = "".join({"%s": word, "%%": "%"}.get(part, re.escape(part)) for part in parts)
    return re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Slot:
    """A word that was replaced: whose text, which word (-1: unknown), what was seen there (N,).

    `truth` is for the judge; the attacker looks at `seen` alone.
    """

    text: int
    truth: int
    seen: Ids


def slots(scene: Scene, name: str, select: str) -> Iterator[Slot]:
    """Give the slots of all texts, with what the variants show in each.

    The slots are read off the text itself: many variants show them, as words that change, but one
    or two may not tell a kept word from a drawn one. The attacker is granted that.
    """
    space = space_of(scene, name)
    reading = reader(word_mechanism(scene, name), space, select)
    for number, (row, text) in enumerate(zip(scene.variants, scene.originals, strict=True)):
        read = reading.read(text)
        seen = reading.seen(read.shape, chunks(row))
        if seen is None:
            raise ParameterError(
                f"The variants of text {number + 1} do not have its words in their slots, as the"
                f" {name} attacker needs; give the mechanism and the 'select' they were made with."
            )
        for slot, truth in enumerate(read.ids):
            column = seen[:, slot]
            yield Slot(number, truth, column[column >= 0])
