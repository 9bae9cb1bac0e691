"""Attack a release: of a table, or of a table of cells."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from veil.core.errors import InputError
from veil.core.rng import Randomness, generator
from veil.core.types import Ids
from veil.tables.attacks import attacker as named
from veil.tables.attacks.scene import Attack, Scene, Truth
from veil.tables.attacks.scene import AttackResult as AttackResult
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import CellRelease
from veil.tables.labels import closed_columns, observed_labels
from veil.tables.mechanism import Release
from veil.tables.table import Role, Table


@overload
def attack(
    table: Table,
    release: Release | Table,
    attacker: str | Attack,
    population: Table | float | None = None,
    control: Table | None = None,
    rng: Randomness = None,
) -> AttackResult: ...
@overload
def attack(
    table: Cells,
    release: CellRelease,
    attacker: Any = "intervals",  # noqa: ANN401 - of cells there is one attacker
    population: None = None,
    control: None = None,
    rng: Randomness = None,
) -> AttackResult: ...
def attack(
    table: Any,
    release: Any,
    attacker: Any = "linkage",
    population: Table | float | None = None,
    control: Table | None = None,
    rng: Randomness = None,
) -> AttackResult:
    """Attack a release as somebody would who knows what the attacker declares to know.

    Parameters
    ----------
    table
        The original: its quasi-identifiers are known of every target, and it says who was right.
    release
        What was released, or a table whose row i is row i of the original.
    attacker
        An attacker, or its spec, as ``interval(width=0.05)``; of cells: ``intervals``.
    population
        A table of everybody (journalist, marketer), or how many they are (unique).
    control
        Rows that were never used for the release (singling_out, linkability, inference).
    rng
        For attackers that draw targets: None, a seed or a generator.
    """
    if isinstance(table, Cells):
        return _cells(table, release, attacker)
    if not isinstance(table, Table):
        raise InputError("What is attacked is a release of a table of tables.load, or of cells.")
    by = named(attacker)
    released, rows, levels = _published(table, release)
    scene = _scene(table, released, levels, rows, population, control, by)
    return by.attack(scene, Truth(table, rows), generator(rng))


def _cells(cells: Cells, release: object, attacker: object) -> AttackResult:
    from veil.tables.cells.intervals import attack_cells

    if not isinstance(release, CellRelease):
        raise InputError("Cells are attacked by a release of cells, which tables.protect makes.")
    return attack_cells(cells, release, attacker)  # type: ignore[arg-type]  # it says what it takes


def _published(table: Table, release: object) -> tuple[Table, Ids | None, Mapping[str, int]]:
    """Return what is published, which row of the original each row is, and levels."""
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
    for held in (table, released):
        held.require_finite(qi)
    roles: dict[str, Role] = {
        name: table.roles[name] if name in table else "other" for name in released
    }
    released, levels = observed_labels(replace(released, roles=roles), table, levels, rows)
    known = Table({name: table.column(name) for name in qi}, dict.fromkeys(qi, "qi"))
    closed = closed_columns(released, table, rows)
    return Scene(released, known, table.hierarchies, levels, closed, population, control)
