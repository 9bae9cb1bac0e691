"""A table: columns with roles, hierarchies and declared categories."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.tables.column import Column, Values
from veil.tables.hierarchy import Hierarchy

Role = Literal["identifier", "qi", "confidential", "weight", "other"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Columns of equal length, in order. A table is immutable.

    `roles` maps each column to "identifier" (removed from every release), "qi" (a
    quasi-identifier, which an attacker may know), "confidential" (an attacker must not learn it),
    "weight" (the sampling weight) or "other".
    """

    held: Mapping[str, Column]
    roles: Mapping[str, Role] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    name: str = "table"

    def __post_init__(self) -> None:
        if len({len(column) for column in self.held.values()}) > 1:
            raise InputError("The columns of a table must have the same length.")
        roles = {name: self.roles.get(name, "other") for name in self.held}
        object.__setattr__(self, "roles", roles)

    def __repr__(self) -> str:
        return f"Table({len(self):,} rows: {', '.join(self.held)})"  # no values: it may be logged

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.held)

    def __len__(self) -> int:
        return len(next(iter(self.held.values()), ()))

    def __getitem__(self, name: str) -> Values:
        """Return the values of a column: float64 with nan, or texts with None."""
        return self.column(name).values

    def __contains__(self, name: object) -> bool:
        return name in self.held

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def column(self, name: str) -> Column:
        """Return a column, or raise an error that lists the columns."""
        if name not in self.held:
            raise unknown_column(name, self.columns)
        return self.held[name]

    def of_role(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns with this role, in the order of the table."""
        return tuple(name for name in self.held if self.roles[name] == role)

    @property
    def qi(self) -> tuple[str, ...]:
        """Quasi-identifiers: columns that an attacker may know."""
        return self.of_role("qi")

    @property
    def confidential(self) -> tuple[str, ...]:
        """Columns that an attacker must not learn."""
        return self.of_role("confidential")

    @property
    def weights(self) -> Floats | None:
        """Sampling weights (n,), or None."""
        names = self.of_role("weight")
        return self.held[names[0]].values if names else None

    def require_qi(self) -> tuple[str, ...]:
        """Return the quasi-identifiers, or raise an error if none is declared."""
        if not self.qi:
            raise no_qi()
        return self.qi

    def require_finite(self, names: Sequence[str]) -> None:
        """Raise if one of these columns contains an infinite number."""
        for name in names:
            column = self.column(name)
            if column.numeric and np.isinf(column.values).any():
                raise InputError(
                    f"The column '{name}' must have finite numbers. Remove the infinite ones, or"
                    " leave the column out."
                )

    def hierarchy(self, name: str) -> Hierarchy:
        """Return the hierarchy of a column, or raise an error if it has none."""
        self.column(name)
        if name not in self.hierarchies:
            raise InputError(
                f"The column '{name}' has no hierarchy. Add one with hierarchies={{...}} or"
                " --hierarchies."
            )
        return self.hierarchies[name]

    @cached_property
    def classes(self) -> Ids:
        """Equivalence class of each row (n,): rows with equal quasi-identifiers share one."""
        return row_classes([self.held[name].codes for name in self.qi], len(self))

    def take(self, rows: Ids) -> "Table":
        """Return these rows, in the order of `rows`."""
        return replace(self, held={name: column.take(rows) for name, column in self.held.items()})

    def changed(self, columns: Mapping[str, Column]) -> "Table":
        """Return a copy with some columns replaced."""
        return replace(
            self, held={name: columns.get(name, column) for name, column in self.held.items()}
        )

    def without(self, names: Sequence[str]) -> "Table":
        """Return a copy without these columns."""
        return replace(
            self,
            held={name: column for name, column in self.held.items() if name not in names},
            roles={name: role for name, role in self.roles.items() if name not in names},
        )

    def to_csv(self, path: str | Path, *, excel_safe: bool = False) -> None:
        """Write a CSV file atomically, readable by its owner only."""
        from veil.tables.files import write_csv

        write_csv(self, Path(path), excel_safe=excel_safe)

    def to_arrow(self) -> Any:  # noqa: ANN401 - of pyarrow, which is optional
        """Return an Arrow table."""
        from veil.tables.files import as_arrow

        return as_arrow(self)

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file atomically, readable by its owner only."""
        from veil.tables.files import write_parquet

        write_parquet(self, Path(path))

    def to_polars(self) -> Any:  # noqa: ANN401 - of polars, which is optional
        """Return a polars data frame."""
        from veil.tables.files import as_polars

        return as_polars(self)

    def to_pandas(self) -> Any:  # noqa: ANN401 - of pandas, which is optional
        """Return a pandas data frame."""
        from veil.tables.files import as_pandas

        return as_pandas(self)


def row_classes(codes: Sequence[Ids], n: int) -> Ids:
    """Return the class of each row (n,): equal rows share a number, ordered by their values."""
    key = np.zeros(n, dtype=np.int64)
    for column in codes:
        low = int(column.min(initial=0))
        span = int(column.max(initial=0)) - low + 1
        if int(key.max(initial=0) + 1) > 2**62 // span:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * span + (column - low)
    return _numbered(key)


def _numbered(key: Ids) -> Ids:
    top = int(key.max(initial=0)) + 1
    if top > 4 * len(key):
        return np.unique(key, return_inverse=True)[1].astype(np.int64)
    present = np.zeros(top, dtype=np.bool_)
    present[key] = True
    return (np.cumsum(present) - 1)[key]


def no_qi() -> InputError:
    """Return the error for a table without quasi-identifiers."""
    return InputError(
        "No quasi-identifier is declared. Name the columns that an attacker may know with"
        " qi=[...] or --qi."
    )


def unknown_column(name: str, columns: Sequence[str]) -> InputError:
    """Return the error for an unknown column, with a suggestion."""
    from veil.core.registry import did_you_mean

    return InputError(
        f"There is no column '{name}'.{did_you_mean(name, columns)} Known: {', '.join(columns)}."
    )


def declared(table: Table, name: str, domain: str = "") -> tuple[tuple[str, ...], bool]:
    """Return the categories of a column, and whether they are public.

    The categories in `domain` ('sex=Female|Male;town=...') take precedence over the leaves of a
    hierarchy that lists them. Otherwise they come from the data. Categories from the data or from
    a hierarchy builder are not public.
    """
    explicit = domains(domain, table)
    column = table.column(name)
    if name in explicit:
        categories = explicit[name]
    elif name in table.hierarchies and table.hierarchies[name].public:
        categories = table.hierarchies[name].leaves
    else:
        return column.categories, False
    absent = sum(label not in set(categories) for label in column.categories)
    if absent:
        raise InputError(
            f"The declared categories of '{name}' lack {absent:,} of its values. Add them."
        )
    return categories, True


def domains(domain: str, table: Table) -> Mapping[str, tuple[str, ...]]:
    """Parse the categories of each column, such as 'sex=Female|Male;town=Rome|Oslo'."""
    categories = {}
    for part in filter(None, (entry.strip() for entry in domain.split(";"))):
        name, equals, listed = part.partition("=")
        if name not in table:
            raise unknown_column(name, table.columns)
        values = tuple(value.strip() for value in listed.split("|"))
        if not equals or not all(values) or len(set(values)) < len(values):
            raise ParameterError("Categories must be written as 'sex=Female|Male;town=Rome|Oslo'.")
        categories[name] = values
    return categories
