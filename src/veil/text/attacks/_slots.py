"""The slots in which the words of texts stand, and what was seen there."""

from collections.abc import Iterator
from dataclasses import dataclass

from veil.core.errors import ParameterError
from veil.core.types import Ids
from veil.text.attacks.attack import Scene
from veil.text.attacks.shapes import chunks, reader, space_of, word_mechanism


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
