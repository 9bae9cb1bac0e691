"""What the page of tables measures and draws: how exposed records are, and what is left."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.rng import generator
from veil.tables.attack import attack
from veil.tables.column import Column
from veil.tables.describe import describe
from veil.tables.files import document
from veil.tables.measures.anonymity import anonymity
from veil.tables.measures.pair import Pair
from veil.tables.measures.utility import utility
from veil.tables.method import Release
from veil.tables.protect import protect
from veil.tables.schema import telling
from veil.tables.table import Role, Table
from veil.web.drawings.shares import shares
from veil.web.drawings.sizes import sizes
from veil.web.table_answers import ColumnAnswer, StandAnswer, StepAnswer
from veil.web.table_limits import unmeasured

ATTACKER = "linkage"
_DRAWN = 12  # columns, before and after
_TELLING = "Nearly every row has a value of its own here: say what it is."


def stand(original: Table, released: Release | Table) -> StandAnswer:
    """Count groups that look alike, and attack."""
    table = released.table if isinstance(released, Release) else released
    if unmeasured(original):
        blank = dict.fromkeys(StandAnswer.model_fields)
        return StandAnswer.model_validate({**blank, "rows": len(table)})
    found = attack(original, released, ATTACKER)
    alike = anonymity(table, ())
    gaps = any(table.column(name).missing.any() for name in table.qi)
    return StandAnswer(
        rows=len(table),
        classes=alike.classes,
        uniques=alike.uniques,
        k=alike.k,
        k_any=anonymity(table, (), missing="any").k if gaps else None,
        largest=1 / alike.k,
        risk=found.risk,
        low=found.low,
        high=found.high,
        worst=max(float(found.per_record.max()), float(str(found.details["largest"]))),
    )


def step(table: Table, spec: str) -> StepAnswer:
    """Protect by one strength of a method, attack and compare."""
    release = protect(table, spec)
    return StepAnswer(spec=spec, stand=stand(table, release), utility=utility(table, release))


def columns(table: Table) -> list[ColumnAnswer]:
    """Say what each column is, and what should be thought of."""
    apart = telling(table)
    return [
        ColumnAnswer(
            name=one.name,
            kind=one.kind,
            different=one.distinct,
            missing=one.missing,
            role=table.roles[one.name],
            says=_TELLING if one.name in apart else _sentence(one.suspicious),
        )
        for one in describe(table).columns
    ]


def _sentence(words: str) -> str:
    end = "" if words.endswith("?") else "."
    return f"{words[:1].upper()}{words[1:]}{end}" if words else ""


def proposed(table: Table) -> dict[str, Role]:
    """Return a role for each column that a person may change; none is taken to be harmless."""
    return {one.name: one.proposal.role for one in describe(table).columns}


def drawn(original: Table, release: Release, changed: Sequence[str]) -> list[str]:
    """Draw groups that look alike and the columns that an attacker knows or that were changed."""
    pair = Pair.of(original, release)
    names = [name for name in pair.columns if name in changed or name in original.qi]
    return [
        sizes(original, release.table),
        *(shares(pair, name) for name in names[:_DRAWN]),
    ]


def changed_columns(original: Table, release: Release) -> tuple[str, ...]:
    """Return the columns in which a released value is not that of its record."""
    rows, table = release.rows, release.table
    if rows is None:  # of nobody
        return table.columns
    return tuple(
        name
        for name in table.columns
        if not _same(original.column(name).take(rows), table.column(name))
    )


def _same(before: Column, after: Column) -> bool:
    if before.numeric and after.numeric:
        return np.array_equal(before.values, after.values, equal_nan=True)
    return bool((before.texts == after.texts).all())


def card(
    original: Table, release: Release, changed: Sequence[str], built: Mapping[str, str]
) -> dict[str, Any]:
    """Say what was done, what is proved and what is not; no value of a cell is in it."""
    names = release.table.columns
    return {
        **document(release, shuffled=True),
        "columns": list(names),
        "dropped": [name for name in original.columns if name not in names],
        "changed": list(changed),
        "as_they_were": [name for name in names if name not in changed],
        "hierarchies": dict(built),
    }


def blanked(original: Table, release: Release) -> int:
    """Count the cells that are empty now and were not."""
    if release.rows is None:
        return 0
    table = release.table
    return sum(
        int((table.column(name).missing & ~original.column(name).missing[release.rows]).sum())
        for name in table.columns
    )


def file_of(release: Release, *, excel_safe: bool) -> str:
    """Write a release as CSV, in a fresh random order: order is a link."""
    order = generator(None).permutation(len(release))
    with tempfile.TemporaryDirectory(prefix="veil-") as folder:
        path = Path(folder) / "released.csv"
        release.table.take(order).to_csv(path, excel_safe=excel_safe)
        return path.read_text(encoding="utf-8")
