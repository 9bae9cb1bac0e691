"""Attack a release of a table, or of a table of cells.

Every attack subclasses `Attack`. It guesses from a `Scene`, which holds what the attacker knows;
the `Truth` only scores the guesses. `attack` builds both and runs an attack by its spec.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, overload

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.estimate import RESAMPLES, Estimate, bootstrap, interval
from veil.core.outcome import Outcome
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import CellRelease
from veil.tables.column import Column
from veil.tables.hierarchy import Hierarchy
from veil.tables.labels import (
    Bools,
    Cover,
    Missing,
    closed_columns,
    observed_labels,
    star_codes,
)
from veil.tables.mechanism import Release
from veil.tables.patterns import LabelDistance, Metric, Patterns, label_distance
from veil.tables.table import Role, Table


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

    def aparts(self, beside: Table, names: Sequence[str], metric: Metric) -> list[LabelDistance]:
        """Return the distances of the labels of columns from the values of another table."""
        return [
            label_distance(
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
    """The original, and the original row of each released row (None for synthetic rows)."""

    original: Table
    rows: Ids | None

    def of(self, by: str) -> Ids:
        """Return the original rows (m,), or raise an error if the release is synthetic."""
        if self.rows is None:
            raise InputError(
                f"The attacker {by} needs to know which original row each released row is, and"
                " synthetic rows are nobody's; use attribute, singling_out, linkability or"
                " inference."
            )
        return self.rows

    def spread(self, values: Floats, by: str) -> Floats:
        """Return the value of the released row of each original row (n,); 0 if it was removed."""
        spread = np.zeros(len(self.original))
        np.maximum.at(spread, self.of(by), values)
        return spread

    def starred(self, scene: Scene) -> Bools:
        """Return which released rows (m,) have lost all values that the attacker knows of them."""
        gone = _blank([scene.released.column(name) for name in scene.qi])
        if self.rows is None or gone.all():
            return np.zeros(len(gone), dtype=np.bool_)
        return gone & ~_blank([scene.known.column(name) for name in scene.qi])[self.rows]


def _blank(columns: Sequence[Column]) -> Bools:
    """Return which rows have a star, or nothing, in all columns."""
    stars = [np.array(star_codes(column)[1:], dtype=np.int64) for column in columns]
    flags = [
        column.missing | np.isin(column.codes, codes)
        for column, codes in zip(columns, stars, strict=True)
    ]
    blank: Bools = np.logical_and.reduce(flags)
    return blank


class Attack(Component):
    """An attack on a released table.

    `family` groups similar attacks, and `needs` lists what must be present ("qi", "confidential",
    "rows", "control").
    """

    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset({"qi"})

    @abstractmethod
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Guess from the scene, and score the guesses by the truth."""


_FEW = 2_000  # records up to which they are drawn one by one
_VALUES = 5_000  # different values up to which they are drawn by how often they occur
_SEED = 20261118  # the same records give the same interval


def mean_attack(
    per_record: Floats,
    baseline: float | None = None,
    details: Mapping[str, object] | None = None,
) -> Outcome:
    """Return an outcome whose risk is the mean over records; the details have the worst ones."""
    largest = float(per_record.max(initial=0.0))
    certain = int((per_record >= 1).sum())
    return Outcome(
        unit="record",
        per_record=per_record,
        baseline=baseline,
        mean=bootstrap_mean(per_record),
        details={"largest": largest, "certain": certain, **(details or {})},
    )


def bootstrap_mean(values: Floats) -> Estimate:
    """Return the mean with its 95 % bootstrap interval over records.

    For many records with few distinct values, the counts of the values are drawn, which have the
    same distribution.
    """
    if len(values) <= _FEW:
        return bootstrap(values)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) > _VALUES:
        return bootstrap(values)
    n = len(values)
    drawn = generator(_SEED).multinomial(n, counts / n, size=RESAMPLES)
    return interval(float(values.mean()), drawn @ distinct / n, n)


@overload
def attack(
    table: Table,
    release: Release | Table,
    attacker: str | Attack,
    population: Table | float | None = None,
    control: Table | None = None,
    rng: Randomness = None,
) -> Outcome: ...
@overload
def attack(
    table: Cells,
    release: CellRelease,
    attacker: Any = "intervals",  # noqa: ANN401 - the only attack on cells
    population: None = None,
    control: None = None,
    rng: Randomness = None,
) -> Outcome: ...
def attack(
    table: Any,
    release: Any,
    attacker: Any = "linkage",
    population: Table | float | None = None,
    control: Table | None = None,
    rng: Randomness = None,
) -> Outcome:
    """Attack a release with the knowledge that the attack declares, and score its guesses.

    Parameters
    ----------
    table
        The original. The attacker knows the quasi-identifiers of every row; guesses are scored by
        the rest.
    release
        The release, or a table whose row i is row i of the original.
    attacker
        An attack or its spec, as ``interval(width=0.05)``; for cells, ``intervals``.
    population
        A table of the whole population (journalist, marketer), or its size (unique).
    control
        Rows that were never used for the release (singling_out, linkability, inference).
    rng
        None, a seed or a generator, for attacks that draw targets.
    """
    if isinstance(table, Cells):
        return _cells(table, release, attacker)
    if not isinstance(table, Table):
        raise InputError("What is attacked is a release of a table of tables.load, or of cells.")
    from veil.tables.attacks import attacker as attack_of

    by = attack_of(attacker)
    released, rows, levels = _published(table, release)
    scene = _scene(table, released, levels, rows, population, control, by)
    return by.run(scene, Truth(table, rows), generator(rng))


def _cells(cells: Cells, release: object, attacker: object) -> Outcome:
    from veil.tables.cells.intervals import attack_cells

    if not isinstance(release, CellRelease):
        raise InputError("Cells are attacked by a release of cells, which tables.protect makes.")
    return attack_cells(cells, release, attacker)  # type: ignore[arg-type]  # it says what it takes


def _published(table: Table, release: object) -> tuple[Table, Ids | None, Mapping[str, int]]:
    """Return the published table, the original row of each of its rows, and its levels."""
    if isinstance(release, Release):
        if release.rows is not None and int(release.rows.max(initial=0)) >= len(table):
            raise InputError("The release and the original do not correspond: it has more rows.")
        return release.table, release.rows, release.levels
    if not isinstance(release, Table):
        raise InputError("A release is what tables.protect returns, or a table.")
    if len(release) != len(table):
        raise InputError(
            f"Row i of a released table must be row i of the original, and there are"
            f" {len(release):,} and {len(table):,} rows; hand in the Release, which knows them."
        )
    return release, np.arange(len(table)), {}


def _scene(
    table: Table,
    released: Table,
    levels: Mapping[str, int],
    rows: Ids | None,
    population: Table | float | None,
    control: Table | None,
    by: Attack,
) -> Scene:
    if not len(released):
        raise InputError("The release has no rows; nothing is there to attack.")
    qi = tuple(name for name in table.qi if name in released)
    if "qi" in by.needs:
        table.require_qi()
        if not qi:
            raise InputError("The release has none of the quasi-identifiers of the original.")
    if "confidential" in by.needs and not any(name in released for name in table.confidential):
        raise InputError(
            f"The attacker {by.name} guesses confidential columns, and none is declared and"
            " released; name them by confidential=[...] or --confidential."
        )
    if "control" in by.needs and not isinstance(control, Table):
        raise InputError(
            f"The attacker {by.name} needs control rows, which were never used for the release;"
            " hand them in by control=."
        )
    table.require_finite(qi)
    released.require_finite(qi)
    roles: dict[str, Role] = {
        name: table.roles[name] if name in table else "other" for name in released
    }
    released, levels = observed_labels(replace(released, roles=roles), table, levels, rows)
    known = Table({name: table.column(name) for name in qi}, dict.fromkeys(qi, "qi"))
    closed = closed_columns(released, table, rows)
    return Scene(released, known, table.hierarchies, levels, closed, population, control)
