"""Utility by cells: how near each value is to what it was."""

import math
from typing import ClassVar

import numpy as np

from veil.core.types import Floats
from veil.tables.column import Column
from veil.tables.measures.measure import Utility
from veil.tables.measures.pair import Pair


class Cells(Utility):
    """1 minus the mean loss of a cell.

    Numbers lose min(1, |x - x'|/(sqrt 2 sd)), generalised values the share of the domain that
    their label covers (ncp), changed ones and blanked ones 1; so do all cells of suppressed rows.
    """

    name: ClassVar[str] = "cells"

    def score(self, pair: Pair) -> float:
        """Compare every cell."""
        rows = len(pair.required_rows)
        lost = sum(float(cell_losses(pair, name).sum()) for name in pair.columns)
        cells = (rows + pair.removed) * len(pair.columns)
        return 1 - (lost + pair.removed * len(pair.columns)) / max(1, cells)


def cell_losses(pair: Pair, name: str) -> Floats:
    """Return the loss of each released value of a column (m,), from 0 to 1."""
    rows, column = pair.required_rows, pair.original.column(name)
    released, original = pair.released.column(name), column.take(rows)
    if original.numeric and released.numeric:
        return _moved(original, released, spread(column))
    return relabelled(pair, name)


def spread(column: Column) -> float:
    """Return the sample standard deviation of the numbers that are there; 0 of fewer than two."""
    there = column.values[~column.missing]
    return float(there.std(ddof=1)) if len(there) > 1 else 0.0


def _moved(original: Column, released: Column, sd: float) -> Floats:
    away = np.abs(original.values - released.values)
    scale = math.sqrt(2) * sd
    lost = np.minimum(1.0, away / scale) if scale > 0 else (away > 0).astype(np.float64)
    gaps = original.missing | released.missing
    changed = (original.missing != released.missing).astype(np.float64)
    made: Floats = np.where(gaps, changed, lost)
    return made


def relabelled(pair: Pair, name: str) -> Floats:
    """Return the loss of each value by its label (m,): 0, ncp, or 1."""
    column, released = pair.original.column(name), pair.released.column(name)
    rows = pair.required_rows
    level = pair.levels.get(name, 0)
    place = {} if level else {label: i for i, label in enumerate(column.categories)}
    meanings = pair.bins(name).meanings.of(released.categories)
    same = np.array([place.get(label, -2) for label in released.categories], dtype=np.int64)
    wide = np.array([one.loss for one in meanings])
    codes, known = released.codes, column.codes[rows]
    at, loss = np.append(same, -1)[codes], np.append(wide, 1.0)[codes]
    return np.where(at == known, 0.0, np.where(at == -2, loss, 1.0))
