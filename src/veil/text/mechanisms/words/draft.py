"""A text cut into its layout and the words to replace, for whoever keeps draws and reuses them.

`protect` draws and spells in one go. Here the two are apart: draws of a word that were released
before can be put into another text without drawing anew. They tell nothing more about the word
itself; but that the same draws come again tells that the same word does.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.core.types import Released
from veil.corpus.tokens import MAX_CHARS, Case, check_text, follow
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.mechanisms.words.protect import draw_ids
from veil.text.policy import Planner, Policy, Unknown
from veil.text.select import Select
from veil.text.vectors.embeddings import Embeddings


@dataclass(frozen=True, slots=True)
class Draft:
    """The words of a text that a mechanism replaces, and what stands around them.

    It holds words of the text, and so stays where the text is.

    Attributes
    ----------
    words
        The words to replace, in order: as the vectors spell them, or else as they are written.
    known
        Which of them the vectors know.
    kept
        Words that pass unchanged by policy, in order.
    """

    words: tuple[str, ...]
    known: tuple[bool, ...]
    kept: tuple[str, ...]
    _ids: tuple[int, ...]
    _cases: tuple[Case, ...]
    _layout: str

    def spell(self, drawn: Sequence[str]) -> Released:
        """Put one drawn word into each slot."""
        if len(drawn) != len(self.words):
            raise InputError("There must be one drawn word for each slot of the text.")
        return Released(self._layout % tuple(map(follow, self._cases, drawn)))

    @property
    def original(self) -> str:
        """The text itself, as its variants are laid out."""
        return self._layout % tuple(map(follow, self._cases, self.words))

    @property
    def form(self) -> str:
        """Layout and capitals, which every variant shows; none of the words to replace."""
        return json.dumps([self._layout, [case.value for case in self._cases]])

    def in_form(self, form: str, order: Sequence[int]) -> "Draft":
        """Return the same words in another order and form, as an earlier text had them."""
        layout, cases = json.loads(form)
        return replace(
            self,
            words=tuple(self.words[i] for i in order),
            known=tuple(self.known[i] for i in order),
            _ids=tuple(self._ids[i] for i in order),
            _cases=tuple(map(Case, cases)),
            _layout=layout,
        )


def draft(
    text: str,
    mechanism: WordMechanism,
    space: Embeddings,
    *,
    unknown: Unknown = "random",
    policies: Mapping[str, Policy] | None = None,
    select: Select | None = None,
    max_chars: int = MAX_CHARS,
) -> Draft:
    """Decide, as `protect` does, which words of a text are replaced."""
    check_text(text, "The text", max_chars)
    choice = mechanism.select if select is None else select
    plan = Planner(space, choice, unknown, policies or {}).plan(text)
    spelt = [
        space.words[i] if i >= 0 else word for i, word in zip(plan.ids, plan.words, strict=True)
    ]
    return Draft(
        words=tuple(spelt),
        known=tuple(i >= 0 for i in plan.ids),
        kept=tuple(plan.kept),
        _ids=tuple(plan.ids),
        _cases=tuple(plan.cases),
        _layout=plan.layout,
    )


def draw(
    text: Draft,
    slots: Sequence[int],
    mechanism: WordMechanism,
    space: Embeddings,
    size: int,
    decoys: Sequence[int],
) -> list[tuple[str, ...]]:
    """Draw `size` words for each of these slots, with fresh randomness.

    `decoys` are numbers of words of the space, one for each of the slots: it stands behind all
    draws of a word that the vectors do not know, and must not depend on that word for anybody
    else. Returns one tuple of draws for each slot.
    """
    random = generator(None)
    ids = np.array([text._ids[slot] for slot in slots], dtype=np.int64)
    ids[ids < 0] = np.asarray(decoys, dtype=np.int64)[ids < 0]
    drawn = space.spellings[draw_ids(mechanism.bind(space), ids, size, space.size, random)]
    return [tuple(column) for column in drawn.T.tolist()]
