"""Tables from files, with what a command or a study says of their columns."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from veil.core.errors import InputError
from veil.tables.hierarchy import Hierarchy
from veil.tables.load import load, roles_of
from veil.tables.schema import read_schema
from veil.tables.table import ROLES, Role, Table, unknown_column


@dataclass(frozen=True)
class Source:
    """What is said of the columns of a file, and of releases of it.

    Attributes
    ----------
    identifiers, qi, confidential, weight
        Roles of columns.
    hierarchies
        Folder with a file for each column that has a hierarchy: ``age.csv`` or ``..._age.csv``.
    schema
        TOML file of roles and hierarchies; what else is said here wins over it.
    sep, missing
        What separates the columns of the original, where it does not tell; and texts of it that
        mean that a value is missing, besides nothing at all.
    """

    identifiers: tuple[str, ...] = ()
    qi: tuple[str, ...] = ()
    confidential: tuple[str, ...] = ()
    weight: str | None = None
    hierarchies: Path | None = None
    schema: Path | None = None
    sep: str | None = None
    missing: tuple[str, ...] = ()

    @property
    def silent(self) -> bool:
        """Whether nothing is said of any column."""
        return not (self.identifiers or self.qi or self.confidential or self.schema)

    def opened(self, path: Path) -> tuple[Table, list[str]]:
        """Open the original; return also what is to be warned of."""
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always", UserWarning)
            table = load(
                path,
                self.identifiers,
                self.qi,
                self.confidential,
                self.weight,
                sep=self.sep,
                schema=self.schema,
                missing=("", *self.missing),
            )
        told = [str(one.message) for one in raised if issubclass(one.category, UserWarning)]
        if self.hierarchies is not None:
            table = with_hierarchies(table, self.hierarchies)
        return table, told

    def beside(self, path: Path) -> "Source":
        """Return the same with the hierarchies that lie beside a file and have its name.

        They are called ``adult_hierarchy_age.csv`` beside ``adult.csv``. What is said of
        hierarchies counts instead.
        """
        named = (*self.qi, *self.confidential)
        if self.hierarchies is not None or self.schema is not None or not named:
            return self
        own = f"{path.name.split('.')[0]}_hierarchy_"
        try:
            files = hierarchy_files(path.parent, named).values()
        except InputError:
            return self
        if not files or not all(file.name.startswith(own) for file in files):
            return self
        return replace(self, hierarchies=path.parent)

    def with_roles(self, roles: Mapping[str, str] | None) -> "Source":
        """Return the same with the roles of a card, which count where nothing else is said."""
        if not self.silent or not roles:
            return self
        told = {role: tuple(name for name in roles if roles[name] == role) for role in ROLES}
        weight = told["weight"][0] if told["weight"] else None
        return replace(self, qi=told["qi"], confidential=told["confidential"], weight=weight)

    def declared(self, names: Sequence[str]) -> tuple[dict[str, Role], dict[str, Any]]:
        """Return the roles and hierarchies that are said of the columns of a file."""
        roles, given = ({}, {}) if self.schema is None else read_schema(self.schema)
        weight = () if self.weight is None else (self.weight,)
        told = roles_of(self.identifiers, self.qi, self.confidential, None)
        roles = {**roles, **told, **dict.fromkeys(weight, "weight")}
        for name in (*roles, *given):
            if name not in names:
                raise unknown_column(name, names)
        if self.hierarchies is not None:
            wanted = [name for name in names if roles.get(name) in ("qi", "confidential")]
            given |= hierarchy_files(self.hierarchies, wanted or names)
        return roles, given

    def released(self, path: Path, roles: Mapping[str, str] | None = None) -> Table:
        """Open a release: its values may be labels, and identifiers are gone.

        `roles` are those of its card, which count where nothing else is said.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            table = load(path)
        told: dict[str, Role] = {}
        if self.silent:
            told = {name: role for name, role in (roles or {}).items() if name in table}  # type: ignore[misc]
        if self.schema is not None:
            told = {
                name: role for name, role in read_schema(self.schema)[0].items() if name in table
            }
        for role, names in self._named():
            for name in names:
                if name not in table:
                    raise unknown_column(name, table.columns)
                told[name] = role
        table = replace(table, roles=told)
        if self.hierarchies is None:
            return table
        return with_hierarchies(table, self.hierarchies, table.confidential)

    def _named(self) -> list[tuple[Role, Sequence[str]]]:
        weight = () if self.weight is None else (self.weight,)
        return [("qi", self.qi), ("confidential", self.confidential), ("weight", weight)]


def at_worst(table: Table) -> tuple[Table, list[str]]:
    """Take all columns without a role for known, where no quasi-identifier is declared.

    That is the worst that an attacker can know. Return also what is to be said of it.
    """
    others = table.of_role("other")
    if table.qi or not others:
        return table, []
    roles = {**table.roles, **dict.fromkeys(others, "qi")}
    told = f"No quasi-identifier is declared: an attacker is taken to know {', '.join(others)}."
    return replace(table, roles=cast(Mapping[str, Role], roles)), [told]


def with_hierarchies(table: Table, folder: Path, names: Sequence[str] | None = None) -> Table:
    """Return a table with the hierarchies of a folder.

    They are those of `names`, by default of the quasi-identifiers and confidential columns, or of
    all columns where none is declared.
    """
    declared = (*table.qi, *table.confidential) or table.columns
    wanted = declared if names is None else tuple(names)
    files = hierarchy_files(folder, wanted)
    made = {name: Hierarchy.of(path, table.column(name), name) for name, path in files.items()}
    return replace(table, hierarchies={**table.hierarchies, **made})


def hierarchy_files(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Find the file of each column that has one: ``age.csv``, or one that ends in ``_age.csv``."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder} of hierarchies.")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv")
    found: dict[str, Path] = {}
    for name in names:
        mine = [path for path in files if path.stem == name]
        mine = mine or [path for path in files if path.stem.endswith(f"_{name}")]
        if len(mine) > 1:
            raise InputError(
                f"The folder {folder} has {len(mine)} files for the column '{name}'; keep one."
            )
        if mine:
            found[name] = mine[0]
    return found
