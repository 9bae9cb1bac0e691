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
        The published table.
    known
        The quasi-identifiers of all targets, one row each, in the order of the original.
    hierarchies, levels
        By column, as published: the hierarchy, and the generalisation level of the whole column.
    closed
        Columns whose intervals include their upper bound, even if they look half-open.
    population
        A table of the whole population, or its size; None if unknown.
    control
        Rows that were never used for the release, or None.
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
        """Distinct rows of released labels, and of known values, in the quasi-identifiers."""
        return (
            Patterns.of([self.released.column(name) for name in self.qi]),
            Patterns.of([self.known.column(name) for name in self.qi]),
        )

    def covers(self, values: Table, names: Sequence[str], missing: Missing) -> list[Cover]:
        """Return, for each column, which of `values` each released label covers."""
        return [
            Cover(
                self.released.column(name),
                values.column(name),
                self.hierarchies.get(name),
                self.levels.get(name),
                missing,
                closed=name in self.closed,
            )
            for name in names
        ]

    def distances(
        self, values: Table, names: Sequence[str], metric: Metric
    ) -> list[LabelDistance]:
        """Return, for each column, the distances between released labels and `values`."""
        return [
            label_distance(
                self.released.column(name),
                values.column(name),
                self.hierarchies.get(name),
                self.levels.get(name),
                metric,
            )
            for name in names
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The original, and the original row of each released row; None if the rows are synthetic."""

    original: Table
    rows: Ids | None

    def of(self, by: str) -> Ids:
        """Return the original rows (m,), or raise an error if the release is synthetic."""
        if self.rows is None:
            raise InputError(
                f"The attack {by} needs to know the original row of each released row, and"
                " synthetic rows have none. Use attribute, singling_out, linkability or"
                " inference."
            )
        return self.rows

    def spread(self, values: Floats, by: str) -> Floats:
        """Map values of released rows to original rows (n,); 0 for removed rows."""
        spread = np.zeros(len(self.original))
        np.maximum.at(spread, self.of(by), values)
        return spread

    def starred(self, scene: Scene) -> Bools:
        """Return which released rows (m,) lost all values that the attacker knows."""
        gone = _blank([scene.released.column(name) for name in scene.qi])
        if self.rows is None or gone.all():
            return np.zeros(len(gone), dtype=np.bool_)
        return gone & ~_blank([scene.known.column(name) for name in scene.qi])[self.rows]


def _blank(columns: Sequence[Column]) -> Bools:
    stars = [np.array(star_codes(column)[1:], dtype=np.int64) for column in columns]
    flags = [
        column.missing | np.isin(column.codes, codes)
        for column, codes in zip(columns, stars, strict=True)
    ]
    blank: Bools = np.logical_and.reduce(flags)
    return blank


class Attack(Component):
    """An attack on a released table.

    `family` groups similar attacks, and `needs` lists what must exist ("qi", "confidential",
    "rows", "control").
    """

    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset({"qi"})

    @abstractmethod
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Guess from the scene, and score the guesses by the truth."""


_FEW = 2_000  # up to this many records, resample single records
_VALUES = 5_000  # up to this many distinct values, resample their counts
_SEED = 20261118  # makes intervals reproducible


def mean_attack(
    per_record: Floats,
    baseline: float | None = None,
    details: Mapping[str, object] | None = None,
) -> Outcome:
    """Return an outcome whose risk is the mean over records, with the worst in its details."""
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

    If many records have few distinct values, the counts of the values are resampled, which gives
    the same distribution.
    """
    if len(values) <= _FEW:
        return bootstrap(values)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) > _VALUES:
        return bootstrap(values)
    n = len(values)
    resampled = generator(_SEED).multinomial(n, counts / n, size=RESAMPLES)
    return interval(float(values.mean()), resampled @ distinct / n, n)


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
        The original. The attacker knows the quasi-identifiers of every row. The rest is used to
        score the guesses.
    release
        The release, or a table whose row i is row i of the original.
    attacker
        An attack or its spec, such as ``interval(width=0.05)``; for cells, ``intervals``.
    population
        A table of the whole population (journalist, marketer), or its size (unique).
    control
        Rows that were never used for the release (singling_out, linkability, inference).
    rng
        None, a seed or a generator, for attacks that sample targets.
    """
    if isinstance(table, Cells):
        return _cells(table, release, attacker)
    if not isinstance(table, Table):
        raise InputError("attack needs a table from tables.load, or cells from tables.tabulate.")
    from veil.tables.attacks import attacker as attack_of

    by = attack_of(attacker)
    released, rows, levels = _published(table, release)
    scene = _scene(table, released, levels, rows, population, control, by)
    return by.run(scene, Truth(table, rows), generator(rng))


def _cells(cells: Cells, release: object, attacker: object) -> Outcome:
    from veil.tables.cells.intervals import attack_cells

    if not isinstance(release, CellRelease):
        raise InputError("The release must be one of cells, from tables.protect.")
    return attack_cells(cells, release, attacker)  # type: ignore[arg-type]  # checked there


def _published(table: Table, release: object) -> tuple[Table, Ids | None, Mapping[str, int]]:
    if isinstance(release, Release):
        if release.rows is not None and int(release.rows.max(initial=0)) >= len(table):
            raise InputError(
                "The release and the original do not match: the release has rows beyond those of"
                " the original."
            )
        return release.table, release.rows, release.levels
    if not isinstance(release, Table):
        raise InputError("The release must be a Release from tables.protect, or a table.")
    if len(release) != len(table):
        raise InputError(
            f"Row i of a released table must be row i of the original. Got {len(release):,} and"
            f" {len(table):,} rows instead. Try the Release, which knows its rows."
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
        raise InputError("The release has no rows to attack.")
    qi = tuple(name for name in table.qi if name in released)
    if "qi" in by.needs:
        table.require_qi()
        if not qi:
            raise InputError("The release has none of the quasi-identifiers of the original.")
    if "confidential" in by.needs and not any(name in released for name in table.confidential):
        raise InputError(
            f"The attack {by.name} guesses confidential columns, and none is both declared and"
            " released. Name them with confidential=[...] or --confidential."
        )
    if "control" in by.needs and not isinstance(control, Table):
        raise InputError(
            f"The attack {by.name} needs control rows, which were never used for the release."
            " Pass them as control=."
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
