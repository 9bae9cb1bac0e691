"""At which level of its hierarchy each released column stands."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.spans import read_spans
from veil.tables.table import Table


def standing(
    released: Table, original: Table, told: Mapping[str, int], rows: Ids | None
) -> tuple[Table, dict[str, int]]:
    """Return the level of each column that stands above its values, and labels as texts.

    `told` are the levels that a release knows of. Else a column stands at the lowest level that
    has all its labels, each above the value that its row had (`rows`, where they are known): 30
    may be a value, or all from 30 to 39. A label that is written as a number is none then.
    """
    found: dict[str, int] = {}
    for name in released:
        if name in original and name in original.hierarchies:
            places = _Places(released.column(name), original.hierarchies[name])
            level = told.get(name)
            if level is None:
                level = places.guessed(original.column(name), rows)
            found |= {name: level} if level and places.at(level) is not None else {}
    texts = {name for name in found if released.column(name).numeric}
    if texts:
        held = released.held.items()
        made = {name: Column(one.texts) if name in texts else one for name, one in held}
        released = replace(released, held=made)
    return released, found


def closed_columns(released: Table, original: Table, rows: Ids | None) -> frozenset[str]:
    """Return the columns in which a row has the upper end of an interval that looks open there.

    [0-2] and [2-4] may be cut at 2, which is in the second alone, or tell the least and the most
    of two classes.
    """
    if rows is None:
        return frozenset()
    return frozenset(
        name
        for name in released
        if name in original
        and original.column(name).numeric
        and not released.column(name).numeric
        and _reached(released.column(name), original[name][rows])
    )


def _reached(labels: Column, values: Floats) -> bool:
    """Tell whether some value is the upper end of its interval, which looks open there."""
    spans = read_spans(labels.categories)
    ends = [span.high if span and not span.to_high else np.nan for span in spans]
    return bool((np.append(ends, np.nan)[labels.codes] == values).any())


class _Places:
    """Where the labels of a column are in its hierarchy."""

    def __init__(self, labels: Column, hierarchy: Hierarchy) -> None:
        self._labels, self._hierarchy = labels, hierarchy

    def at(self, level: int) -> Ids | None:
        """Return the place of each label at a level, -1 for a star and what is missing; or None.

        None: the level does not have all of them.
        """
        place = {label: code for code, label in enumerate(self._hierarchy.labels[level])}
        place.setdefault(TOP, -1)
        texts = self._labels.categories
        if any(text not in place for text in texts):
            return None
        return np.array([*(place[text] for text in texts), -1], dtype=np.int64)

    def guessed(self, values: Column, rows: Ids | None) -> int:
        """Return the lowest level that fits all rows, else the lowest that has all labels."""
        fitting = []
        for level in range(self._hierarchy.height + 1):
            places = self.at(level)
            if places is not None:
                fitting.append(level)
                if rows is None or self._holds(places, level, values, rows):
                    return level
        return fitting[0] if fitting else 0

    def _holds(self, places: Ids, level: int, values: Column, rows: Ids) -> bool:
        """Tell whether each label is above the value that its row had."""
        above = self._hierarchy.codes[level][self._hierarchy.at(values)]
        mine, true = places[self._labels.codes], np.append(above, -1)[values.codes[rows]]
        return bool(((mine == true) | (mine < 0) | (true < 0)).all())
