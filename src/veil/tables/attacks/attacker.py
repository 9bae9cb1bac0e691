"""What an attacker of a table is given, and what it declares.

The truth is used to score, never to guess: which original row a released one is stands in `Truth`
alone, and what an attacker guesses from is a `Scene`.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.attacks.apart import Apart, Metric, apart
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.patterns import Patterns
from veil.tables.column import Column
from veil.tables.hierarchy import Hierarchy
from veil.tables.labels import Bools, Cover, Missing, star_codes
from veil.tables.table import Table


@dataclass(frozen=True, eq=False, repr=False)  # a log line shows no cell
class Scene:
    """What an attacker sees and knows.

    Attributes
    ----------
    released
        What is published.
    known
        The quasi-identifiers of all targets, one row each, in the order of the original.
    hierarchies, levels
        By column, as they are public: the hierarchy, and the level of the whole column.
    closed
        Columns whose intervals have both their ends, though they may look as if they had not.
    population
        A table of everybody, or how many they are; None: not known.
    control
        Rows that were never used for the release; None: there are none.
    """

    released: Table
    known: Table
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    population: Table | float | None = None
    control: Table | None = None

    @property
    def qi(self) -> tuple[str, ...]:
        """Columns that the attacker knows of targets and sees in the release."""
        return self.known.columns

    @cached_property
    def patterns(self) -> tuple[Patterns, Patterns]:
        """The different rows of labels, and of known values, over the quasi-identifiers."""
        return (
            Patterns.of([self.released.column(name) for name in self.qi]),
            Patterns.of([self.known.column(name) for name in self.qi]),
        )

    def covers(self, beside: Table, names: Sequence[str], missing: Missing) -> list[Cover]:
        """Return what the labels of columns cover of the values of another table."""
        return [
            Cover(
                self.released.column(name),
                beside.column(name),
                self.hierarchies.get(name),
                self.levels.get(name),
                missing,
                closed=name in self.closed,
            )
            for name in names
        ]

    def aparts(self, beside: Table, names: Sequence[str], metric: Metric) -> list[Apart]:
        """Return how far the labels of columns are from the values of another table."""
        return [
            apart(
                self.released.column(name),
                beside.column(name),
                self.hierarchies.get(name),
                self.levels.get(name),
                metric,
            )
            for name in names
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """What an attack is scored by: the original, and which row of it each released row is."""

    original: Table
    rows: Ids | None

    def of(self, by: str) -> Ids:
        """Return the original rows (m,), or say that released rows are nobody's."""
        if self.rows is None:
            raise InputError(
                f"The attacker {by} needs to know which original row each released row is, and"
                " synthetic rows are nobody's; use attribute, singling_out, linkability or"
                " inference."
            )
        return self.rows

    def spread(self, values: Floats, by: str) -> Floats:
        """Return for each original row (n,) what its released row has; 0 if it was removed."""
        made = np.zeros(len(self.original))
        np.maximum.at(made, self.of(by), values)
        return made

    def starred(self, scene: Scene) -> Bools:
        """Tell which released rows (m,) have nothing left of what was known of them."""
        gone = _blank([scene.released.column(name) for name in scene.qi])
        if self.rows is None or gone.all():
            return np.zeros(len(gone), dtype=np.bool_)
        return gone & ~_blank([scene.known.column(name) for name in scene.qi])[self.rows]


def _blank(columns: Sequence[Column]) -> Bools:
    """Tell which rows have a star, or nothing, in all columns."""
    stars = [np.array(star_codes(column)[1:], dtype=np.int64) for column in columns]
    flags = [
        column.missing | np.isin(column.codes, codes)
        for column, codes in zip(columns, stars, strict=True)
    ]
    made: Bools = np.logical_and.reduce(flags)
    return made


class TableAttacker(Component):
    """Attacks a released table.

    `family` groups attackers that do alike, `needs` says what must be there ("qi", "confidential",
    "rows", "control").
    """

    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset({"qi"})

    @abstractmethod
    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Guess from the scene, and score the guesses by the truth."""
