"""Sentences about a row, such as: age >= 81 and sex = Female; and for how many rows they hold."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.random import Generator

from veil.tables.attacks.attacker import Scene
from veil.tables.attacks.patterns import filled
from veil.tables.column import Column
from veil.tables.labels import Bools, star_codes
from veil.tables.table import Table

Sign = Literal["==", ">=", "<="]


class Clause(NamedTuple):
    """One column, by its number, a sign, and a released value, by its code."""

    column: int
    sign: Sign
    code: int


Predicate = tuple[Clause, ...]


class Reader:
    """For how many rows of a table a predicate about released values holds.

    An original value equals a released label if the label covers it.
    """

    def __init__(self, scene: Scene, beside: Table, names: Sequence[str]) -> None:
        self._labels = [scene.released.column(name) for name in names]
        self._values = [beside.column(name) for name in names]
        self._codes = [filled(column) for column in self._values]
        self._covers = scene.covers(beside, names, "never")
        self._own = beside is scene.released

    def count(self, predicate: Predicate) -> int:
        """Return how many rows a predicate holds for."""
        held = self._holds(predicate[0])
        for clause in predicate[1:]:
            held = held & self._holds(clause)
        return int(np.count_nonzero(held))

    def _holds(self, clause: Clause) -> Bools:
        """Tell for which rows a clause holds; for none where a value is missing."""
        column, codes = self._values[clause.column], self._codes[clause.column]
        found: Bools = np.zeros(len(codes), dtype=np.bool_)
        if clause.sign != "==":
            limit = self._labels[clause.column].numbers[clause.code]
            if column.numeric:
                above = clause.sign == ">="
                found = column.values >= limit if above else column.values <= limit
        elif self._own:
            found = codes == clause.code
        else:
            cover = self._covers[clause.column]
            equal = cover.between(np.array(clause.code), np.arange(cover.values + 1))
            found = equal[codes]
        return found


class Speaker:
    """Says something of released rows."""

    def __init__(self, scene: Scene, names: Sequence[str]) -> None:
        self._columns = [scene.released.column(name) for name in names]
        self._telling = [_telling(column) for column in self._columns]
        self._medians = [_median(column) for column in self._columns]

    def simple(self) -> list[Predicate]:
        """Return predicates of one column that hold for one released row.

        They are extremes that occur once, and values that do.
        """
        made: list[Predicate] = []
        for number, column in enumerate(self._columns):
            telling = self._telling[number]
            counts = np.bincount(filled(column), minlength=len(telling))
            once = np.flatnonzero((counts == 1) & telling)
            made += [(Clause(number, "==", int(code)),) for code in once]
            if column.numeric and len(column.categories):
                ends: list[tuple[Sign, int]] = [("<=", 0), (">=", len(column.categories) - 1)]
                made += [(Clause(number, sign, code),) for sign, code in ends if counts[code] == 1]
        return made

    def of_row(self, row: int, columns: Iterable[int]) -> Predicate:
        """Say where a row stands in some columns; what tells nothing is left out."""
        made = []
        for number in columns:
            column = self._columns[number]
            code = int(column.codes[row])
            if not self._telling[number][code]:  # a missing value, -1, takes the last
                continue
            sign: Sign = "=="
            if column.numeric:
                sign = ">=" if float(column.values[row]) > self._medians[number] else "<="
            made.append(Clause(number, sign, code))
        return tuple(made)

    def blind(self, columns: Iterable[int], rng: Generator) -> Predicate:
        """Say anything of some columns."""
        made = []
        for number in columns:
            codes = np.flatnonzero(self._telling[number])
            if not len(codes):
                continue
            sign: Sign = "=="
            if self._columns[number].numeric:
                sign = ">=" if rng.random() < 0.5 else "<="
            made.append(Clause(number, sign, int(rng.choice(codes))))
        return tuple(made)


def _median(column: Column) -> float:
    there = column.values[~column.missing] if column.numeric else np.zeros(0)
    return float(np.median(there)) if len(there) else 0.0


def _telling(column: Column) -> Bools:
    """Tell which codes (categories + 1,) say something: not stars, and not what is missing."""
    made = np.ones(len(column.categories) + 1, dtype=np.bool_)
    made[star_codes(column)] = False
    return made
