"""Open a table: files, columns of Python, frames of others; with the role of each column."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.tables.column import Column
from veil.tables.hierarchy import Builder, Hierarchy, Rows
from veil.tables.reading import read_columns
from veil.tables.table import Role, Table, unknown_column

Source = str | Path | Mapping[str, Any] | Table
_TELLING = 0.9  # share of different values from which a column without a role is pointed out


def load(
    source: Any,  # noqa: ANN401 - a path, columns by name, or a frame of pandas, polars or Arrow
    identifiers: Sequence[str] = (),
    qi: Sequence[str] = (),
    confidential: Sequence[str] = (),
    weight: str | None = None,
    hierarchies: Mapping[str, "str | Path | Rows | Builder | Hierarchy"] | None = None,
    sep: str | None = None,
    *,
    schema: str | Path | None = None,
    missing: Sequence[str] = ("",),
    quiet: bool = False,
) -> Table:
    """Open a table, and say what its columns are.

    Parameters
    ----------
    source
        Path of a CSV, TSV, JSONL or Parquet file, a dict of columns, or a frame.
    identifiers, qi, confidential, weight
        Roles: what no release has; what an attacker may know; what must not be learnt; the
        sampling weight. A column without a role is "other"; one whose values are different in more
        than 90 % of the rows is warned of, since it may identify.
    hierarchies
        By column: a path, rows of (value, level 1, ..., top), or a builder such as
        `veil.tables.intervals(width=10)`.
    sep
        What separates the columns of a file, where the file does not tell.
    schema
        TOML file with the roles and hierarchies of columns; what is given here wins over it.
    missing
        Texts of a file that mean that a value is missing.
    quiet
        Whether to keep still about columns that tell rows apart: see `telling`.
    """
    held, name = _columns(source, sep, missing)
    given: dict[str, Any] = {}
    roles: dict[str, Role] = {}
    if schema is not None:
        from veil.tables.schema import read_schema

        roles, given = read_schema(Path(schema))
    told = roles_of(identifiers, qi, confidential, weight)
    roles = {column: role for column, role in roles.items() if column not in told} | told
    given |= dict(hierarchies or {})
    for column in (*roles, *given):
        if column not in held:
            raise unknown_column(column, tuple(held))
    table = Table(
        held,
        roles,
        {column: Hierarchy.of(told_as, held[column], column) for column, told_as in given.items()},
        name,
    )
    _check_weight(table)
    if not quiet:
        _warn(table)
    return table


def roles_of(
    identifiers: Sequence[str], qi: Sequence[str], confidential: Sequence[str], weight: str | None
) -> dict[str, Role]:
    """Return the role of each column that is named; each has one."""
    made: dict[str, Role] = {}
    listed: list[tuple[Role, Sequence[str]]] = [
        ("identifier", identifiers),
        ("qi", qi),
        ("confidential", confidential),
        ("weight", () if weight is None else (weight,)),
    ]
    for role, names in listed:
        if isinstance(names, str):
            raise InputError("Roles are given as lists of columns, not as one text.")
        for name in names:
            if name in made:
                raise InputError(f"The column '{name}' has two roles; give it one.")
            made[name] = role
    return made


def _columns(
    source: Any,  # noqa: ANN401 - see load
    sep: str | None,
    missing: Sequence[str],
) -> tuple[dict[str, Column], str]:
    if isinstance(source, Table):
        return dict(source.held), source.name
    if isinstance(source, str | Path):
        path = Path(source)
        return read_columns(path, sep, missing), path.stem
    if not isinstance(source, Mapping):
        from veil.tables.formats import columns_of_frame

        source = columns_of_frame(source)
    held = {str(name): Column.of(values) for name, values in source.items()}
    if not held or not len(next(iter(held.values()))):
        raise InputError("A table needs at least one column and one row.")
    return held, "table"


def _check_weight(table: Table) -> None:
    weights = table.weights
    if weights is not None and not (
        weights.dtype == np.float64 and np.isfinite(weights).all() and (weights > 0).all()
    ):
        raise InputError("Sampling weights must be numbers above 0.")


def telling(table: Table) -> tuple[str, ...]:
    """Return the columns that nobody gave a role and in which nearly every row is different."""
    if len(table) < 2:
        return ()
    return tuple(
        name
        for name in table.of_role("other")
        if table.column(name).different > _TELLING * len(table)
    )


def _warn(table: Table) -> None:
    """Point out columns that nobody gave a role and that tell rows apart."""
    names = telling(table)
    if names:
        warnings.warn(
            f"Nearly every row has a value of its own in {', '.join(names)}, and no role is"
            " declared; say whether they are identifiers, quasi-identifiers or confidential.",
            UserWarning,
            stacklevel=3,
        )
