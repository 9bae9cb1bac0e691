"""What released labels stand for among the values of the original, and what they lose."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from veil.core.types import Ids
from veil.tables.column import Column
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.spans import Sets, Span, read_spans


@dataclass(frozen=True, eq=False)
class Meaning:
    """Some categories of a column: ``order[start:stop]``, and how much is lost by naming them all.

    `loss` is 0 for a single value, else the share of the domain: of leaves, or of the range of
    numbers; 1 for a star, and for a label that stands for nothing that the column has.
    """

    order: Ids
    start: int
    stop: int
    loss: float

    @property
    def values(self) -> Ids:
        """The categories, by their numbers."""
        return self.order[self.start : self.stop]

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Meanings:
    """Reads the labels that releases have for one column.

    A label is a value of the column itself, a label of its hierarchy, the top, an interval
    ``[a-b]``, ``>a`` or ``<a``, or a set ``{a, b}``.

    >>> ages = Meanings(Column.of([20, 21, 25, 40]))
    >>> [one.values.tolist() for one in ages.of(["21", "[20-24]", ">24", "*"])]
    [[1], [0, 1], [2, 3], [0, 1, 2, 3]]
    """

    column: Column
    hierarchy: Hierarchy | None = None
    level: int = 0  # at which all labels stand, if it is known
    closed: bool = False  # whether intervals have both their ends
    _levels: dict[int, tuple[Ids, Ids]] = field(default_factory=dict)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.column.categories)}

    @cached_property
    def _standing(self) -> dict[str, int]:
        """The labels of the level at which all stand."""
        if self.hierarchy is None or not self.level:
            return {}
        return {label: code for code, label in enumerate(self.hierarchy.labels[self.level])}

    @cached_property
    def _sets(self) -> Sets:
        return Sets(self._place)

    @cached_property
    def _all(self) -> Ids:
        return np.arange(len(self.column.categories))

    @property
    def star(self) -> Meaning:
        """Every value."""
        return Meaning(self._all, 0, len(self._all), 1.0)

    def of(self, labels: Sequence[str]) -> list[Meaning]:
        """Return what each label of a released column stands for."""
        spans: Sequence[Span | None] = [None] * len(labels)
        if self.column.numeric:
            spans = read_spans(labels, closed=self.closed)
        return [self._one(label, span) for label, span in zip(labels, spans, strict=True)]

    def _one(self, label: str, span: Span | None) -> Meaning:
        if self.hierarchy is not None and label in self._standing:
            return self._node(self.hierarchy, self.level, self._standing[label])
        if label in self._place:
            place = self._place[label]
            return Meaning(self._all, place, place + 1, 0.0)
        if self.hierarchy is not None and label in self.hierarchy.found:
            return self._node(self.hierarchy, *self.hierarchy.found[label])
        if label == TOP:
            return self.star
        return self._set(label) if span is None else self._span(span)

    def _node(self, hierarchy: Hierarchy, level: int, code: int) -> Meaning:
        """Return the values below a label of the hierarchy."""
        if level not in self._levels:
            labels = hierarchy.codes[level][hierarchy.at(self.column)]
            order = np.argsort(labels, kind="stable")
            self._levels[level] = (order, labels[order])
        order, labels = self._levels[level]
        start, stop = np.searchsorted(labels, [code, code + 1])
        leaves = int((hierarchy.codes[level] == code).sum())
        loss = 0.0 if leaves == 1 else leaves / len(hierarchy.leaves)
        return Meaning(order, int(start), int(stop), loss)

    def _span(self, span: Span) -> Meaning:
        numbers = self.column.numbers
        start = int(np.searchsorted(numbers, span.low, "left" if span.from_low else "right"))
        stop = int(np.searchsorted(numbers, span.high, "right" if span.to_high else "left"))
        if stop <= start:
            return Meaning(self._all, 0, 0, 1.0)
        low, high = float(numbers[0]), float(numbers[-1])
        covered = min(span.high, high) - max(span.low, low)
        loss = covered / (high - low) if high > low else 0.0
        return Meaning(self._all, start, stop, loss)

    def _set(self, label: str) -> Meaning:
        listed, whole = self._sets.of(label) or ([], False)
        known = np.array(listed, dtype=np.int64)
        if not whole or not len(known):
            return Meaning(self._all, 0, 0, 1.0)
        loss = 0.0 if len(known) == 1 else len(known) / len(self._all)
        return Meaning(known, 0, len(known), loss)
