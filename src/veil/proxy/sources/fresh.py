"""Draws of which nothing is kept."""

import math
from dataclasses import replace
from functools import partial

from numpy.random import Generator

from veil.core.types import Variants
from veil.proxy.found import Group, Mark
from veil.proxy.ledger.entries import Entry
from veil.proxy.marks import marks
from veil.proxy.sources.groups import group_of
from veil.proxy.sources.source import Marks, but_chosen
from veil.search.pipeline import Words, release
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.text.vectors.embeddings import Embeddings


class Fresh:
    """Draws of which nothing is kept, whatever was released before."""

    def __init__(
        self,
        query: str,
        mechanism: TextMechanism,
        space: Embeddings | None,
        words: Words,
        rng: Generator | None,
    ) -> None:
        self.asked, self.known, self._mechanism = query, Entry(b"", ""), mechanism
        self._draw = partial(release, query, mechanism, space, rng=rng, **words)
        self._made = Variants((), str(mechanism), mechanism.guarantee, (), ())

    def extend(self, entry: Entry, size: int) -> Entry:
        """Draw all of them anew."""
        self._made = made = self._draw(size)
        return replace(entry, variants=made[0], words=made.protected[0], spent=math.inf)

    def release(self, entry: Entry) -> Variants:
        """Return what was drawn last."""
        made = self._made
        return replace(made, cost=but_chosen(made.cost, entry))

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Compare the variants with the words of the query."""
        if isinstance(self._mechanism, Cover):
            return tuple((Mark(text, "cover"),) for text in entry.variants)
        return tuple(marks(text, [self.asked], self._made.kept[0]) for text in entry.variants)

    def group(self, entry: Entry) -> Group | None:
        """Say which group was sent, where one was."""
        if not isinstance(self._mechanism, Cover):
            return None
        found = self._mechanism.locate(self.asked)
        return group_of(self._mechanism.open(), entry.variants, found, known=False, stayed=False)
