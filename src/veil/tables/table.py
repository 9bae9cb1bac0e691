"""A table: columns with roles, and the categories that they declare."""

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
    """Columns of equal length, in order; nothing in it changes.

    `roles` says of every column what it is: an identifier, which no release has; a
    quasi-identifier (qi), which an attacker knows; confidential, which must not be learnt; the
    sampling weight; or other.
    """

    held: Mapping[str, Column]
    roles: Mapping[str, Role] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    name: str = "table"

    def __post_init__(self) -> None:
        if len({len(column) for column in self.held.values()}) > 1:
            raise InputError("The columns of a table must have one length.")
        roles = {name: self.roles.get(name, "other") for name in self.held}
        object.__setattr__(self, "roles", roles)

    def __repr__(self) -> str:
        return f"Table({len(self):,} rows: {', '.join(self.held)})"  # no value, wherever it ends

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
        """Return a column, or say which there are."""
        if name not in self.held:
            raise unknown_column(name, self.columns)
        return self.held[name]

    def of_role(self, role: Role) -> tuple[str, ...]:
        """Return the columns of a role, in the order of the table."""
        return tuple(name for name in self.held if self.roles[name] == role)

    @property
    def qi(self) -> tuple[str, ...]:
        """Columns that an attacker knows."""
        return self.of_role("qi")

    @property
    def confidential(self) -> tuple[str, ...]:
        """Columns that must not be learnt."""
        return self.of_role("confidential")

    @property
    def weights(self) -> Floats | None:
        """Sampling weights (n,), or None."""
        names = self.of_role("weight")
        return self.held[names[0]].values if names else None

    def require_qi(self) -> tuple[str, ...]:
        """Return the quasi-identifiers, or say that none is declared."""
        if not self.qi:
            raise no_qi()
        return self.qi

    def require_finite(self, names: Sequence[str]) -> None:
        """Raise if one of some columns has an infinite number."""
        for name in names:
            column = self.column(name)
            if column.numeric and np.isinf(column.values).any():
                raise InputError(
                    f"The column '{name}' has infinite numbers; remove them or leave it out."
                )

    def hierarchy(self, name: str) -> Hierarchy:
        """Return the hierarchy of a column, or say that there is none."""
        self.column(name)
        if name not in self.hierarchies:
            raise InputError(
                f"The column '{name}' has no hierarchy; give one, by hierarchies={{...}} or"
                " --hierarchies."
            )
        return self.hierarchies[name]

    @cached_property
    def classes(self) -> Ids:
        """Number of the class of each row (n,): rows equal on all quasi-identifiers."""
        return row_classes([self.held[name].codes for name in self.qi], len(self))

    def take(self, rows: Ids) -> "Table":
        """Return some rows, in that order."""
        return replace(self, held={name: one.take(rows) for name, one in self.held.items()})

    def changed(self, columns: Mapping[str, Column]) -> "Table":
        """Return the same with some columns replaced."""
        return replace(
            self, held={name: columns.get(name, one) for name, one in self.held.items()}
        )

    def without(self, names: Sequence[str]) -> "Table":
        """Return the same without some columns."""
        return replace(
            self,
            held={name: one for name, one in self.held.items() if name not in names},
            roles={name: role for name, role in self.roles.items() if name not in names},
        )

    def to_csv(self, path: str | Path, *, excel_safe: bool = False) -> None:
        """Write it, owner-only, whole or not at all."""
        from veil.tables.files import write_csv

        write_csv(self, Path(path), excel_safe=excel_safe)

    def to_arrow(self) -> Any:  # noqa: ANN401 - of pyarrow, which is optional
        """Return a table of Arrow."""
        from veil.tables.files import as_arrow

        return as_arrow(self)

    def to_parquet(self, path: str | Path) -> None:
        """Write it as Parquet, owner-only, whole or not at all."""
        from veil.tables.files import write_parquet

        write_parquet(self, Path(path))

    def to_polars(self) -> Any:  # noqa: ANN401 - of polars, which is optional
        """Return a frame of polars."""
        from veil.tables.files import as_polars

        return as_polars(self)

    def to_pandas(self) -> Any:  # noqa: ANN401 - of pandas, which is optional
        """Return a frame of pandas."""
        from veil.tables.files import as_pandas

        return as_pandas(self)


def row_classes(codes: Sequence[Ids], n: int) -> Ids:
    """Give rows that are equal in all columns one number, in the order of their values."""
    key = np.zeros(n, dtype=np.int64)
    for column in codes:
        low = int(column.min(initial=0))
        span = int(column.max(initial=0)) - low + 1
        if int(key.max(initial=0) + 1) > 2**62 // span:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * span + (column - low)
    return _numbered(key)


def _numbered(key: Ids) -> Ids:
    """Replace keys by their rank among the different ones, from 0."""
    top = int(key.max(initial=0)) + 1
    if top > 4 * len(key):
        return np.unique(key, return_inverse=True)[1].astype(np.int64)
    there = np.zeros(top, dtype=np.bool_)
    there[key] = True
    return (np.cumsum(there) - 1)[key]


def no_qi() -> InputError:
    """Say that no quasi-identifier is declared."""
    return InputError(
        "No quasi-identifier is declared; name the columns that an attacker may know, by"
        " qi=[...] or --qi."
    )


def unknown_column(name: str, columns: Sequence[str]) -> InputError:
    """Say that there is no such column, and which there are."""
    from veil.core.registry import did_you_mean

    return InputError(
        f"There is no column '{name}'.{did_you_mean(name, columns)} Known: {', '.join(columns)}."
    )


def declared(table: Table, name: str, domain: str = "") -> tuple[tuple[str, ...], bool]:
    """Return the categories of a column, and whether they are public.

    They are those of `domain` ('sex=Female|Male;town=...'), else the leaves of a hierarchy that
    lists them, else those of the data, which are not public, nor are those that a builder found.
    """
    told = domains(domain, table)
    column = table.column(name)
    if name in told:
        categories = told[name]
    elif name in table.hierarchies and table.hierarchies[name].public:
        categories = table.hierarchies[name].leaves
    else:
        return column.categories, False
    absent = sum(label not in set(categories) for label in column.categories)
    if absent:
        raise InputError(f"The declared categories of '{name}' lack {absent:,} values; add them.")
    return categories, True


def domains(domain: str, table: Table) -> Mapping[str, tuple[str, ...]]:
    """Read 'sex=Female|Male;town=Rome|Oslo'."""
    made = {}
    for part in filter(None, (one.strip() for one in domain.split(";"))):
        name, equals, listed = part.partition("=")
        if name not in table:
            raise unknown_column(name, table.columns)
        values = tuple(value.strip() for value in listed.split("|"))
        if not equals or not all(values) or len(set(values)) < len(values):
            raise ParameterError("Categories are declared as 'sex=Female|Male;town=Rome|Oslo'.")
        made[name] = values
    return made
