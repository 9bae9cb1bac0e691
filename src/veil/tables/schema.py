"""Read tables, with the role and hierarchy of each column.

::

    [columns.age]
    role = "qi"
    hierarchy = "adult_hierarchy_age.csv"     # next to the schema, or intervals(width=10, steps=3)

    [columns.zip]
    type = "text"                             # or number; guessed from the values by default
"""

import re
import tomllib
import warnings
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from veil.core.errors import InputError
from veil.core.verb import Columns, File, Folder
from veil.data.lines import AnyFile, HeldFile, Progress
from veil.data.rows import DelimitedLayout, parquet_texts, read_table
from veil.tables.column import MISSING, Column, Kind
from veil.tables.hierarchy import Builder, Hierarchy, Rows, builder
from veil.tables.table import ROLES, Role, Table, unknown_column

_KEYS = {"role", "hierarchy", "type"}
_TYPES = ("text", "number")


def read_schema(path: Path) -> tuple[dict[str, Role], dict[str, Any]]:
    """Return the role, and the hierarchy file or builder, of each column in a schema."""
    roles: dict[str, Role] = {}
    hierarchies: dict[str, Any] = {}
    for name, entry in _schema_columns(path).items():
        role = entry.get("role", "other")
        if role not in ROLES:
            raise InputError(
                f"In {path.name} the role of '{name}' must be one of {', '.join(ROLES)}."
            )
        roles[name] = cast(Role, role)
        if "hierarchy" in entry:
            hierarchies[name] = _hierarchy(entry["hierarchy"], path)
    return roles, hierarchies


def read_types(path: Path) -> dict[str, Kind]:
    """Return the declared type (text or number) of each column in a schema."""
    types: dict[str, Kind] = {}
    for name, entry in _schema_columns(path).items():
        kind = entry.get("type")
        if kind is not None and kind not in _TYPES:
            raise InputError(f"In {path.name} the type of '{name}' must be text or number.")
        if kind is not None:
            types[name] = cast(Kind, kind)
    return types


def _schema_columns(path: Path) -> dict[str, dict[str, Any]]:
    try:
        schema = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"The schema {path.name} cannot be read.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InputError(f"The schema {path.name} is not a TOML file.") from None
    columns = schema.get("columns")
    if set(schema) != {"columns"} or not isinstance(columns, dict):
        raise InputError(f"The schema {path.name} must have exactly one table, [columns].")
    for entry in columns.values():
        if not isinstance(entry, dict) or not set(entry) <= _KEYS:
            raise InputError(f"In {path.name} a column can have only role, hierarchy and type.")
    return columns


def _hierarchy(text: object, path: Path) -> Any:  # noqa: ANN401 - a path or a builder
    if not isinstance(text, str):
        raise InputError(f"In {path.name} a hierarchy must be a string: a file name or a builder.")
    hierarchy = builder(text)
    return path.parent / text if hierarchy is None else hierarchy


BLOCK = 50_000  # rows
Block = tuple[Sequence[str], ...]  # the texts of each column
_WHOLE = re.compile(r"-?\d+\.0")


def read_blocks(
    path: AnyFile, sep: str | None = None, rows: int = BLOCK, progress: Progress = lambda _: None
) -> tuple[tuple[str, ...], Iterator[Block]]:
    """Return the column names of a file, and its rows in blocks of at most `rows` rows.

    Whole numbers that a Parquet file stores as doubles are read without a decimal point: 39.
    """
    header, records = read_table(path, (), DelimitedLayout(delimiter=sep, cased=True), progress)
    doubles = [False] * len(header.names)
    if isinstance(path, Path) and path.suffix.lower() == ".parquet":
        texts = parquet_texts(path)
        doubles = [name not in texts for name in header.names]

    def blocks() -> Iterator[Block]:
        while part := [row.values for row in islice(records, rows)]:
            yield tuple(
                _undoubled(column) if double else column
                for column, double in zip(zip(*part, strict=True), doubles, strict=True)
            )

    return header.names, blocks()


def own_types(path: AnyFile) -> dict[str, Kind]:
    """Return the columns that the file itself declares as text, which only Parquet can."""
    if isinstance(path, Path) and path.suffix.lower() == ".parquet" and path.is_file():
        return dict.fromkeys(parquet_texts(path), "text")
    return {}


def read_columns(
    path: AnyFile,
    sep: str | None = None,
    missing: Sequence[str] = ("",),
    types: Mapping[str, Kind] | None = None,
    progress: Progress = lambda _: None,
    *,
    verbatim: bool = False,
) -> dict[str, Column]:
    """Read a whole file; equal strings of a column are one object.

    `types` overrides the guessed type of some columns. With `verbatim`, for released files, two
    spellings of a value are two values, because anyone who has the file sees both.
    """
    names, blocks = read_blocks(path, sep, progress=progress)
    types = own_types(path) | dict(types or {})
    gathered = [_Gathered(missing) for _ in names]
    for block in blocks:
        for encoder, texts in zip(gathered, block, strict=True):
            encoder.add(texts)
    if not gathered or not len(gathered[0]):
        raise InputError(f"{path.name} has no rows.")
    return {
        name: encoder.column(types.get(name), verbatim=verbatim)
        for name, encoder in zip(names, gathered, strict=True)
    }


class _Gathered(dict[str, int]):
    """Encodes the strings of a column as integers, in the order of their first occurrence."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(dict.fromkeys(missing, MISSING))
        self._labels: list[str] = []
        self._codes = array("i")

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self._labels)
        self._labels.append(text)
        return number

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, texts: Sequence[str]) -> None:
        self._codes.extend(map(self.__getitem__, texts))

    def column(self, kind: Kind | None, *, verbatim: bool) -> Column:
        codes, labels = np.frombuffer(self._codes, dtype=np.int32), self._labels
        self.clear()
        read = Column.verbatim if verbatim else Column.of_codes
        return read(codes.astype(np.int64), labels, kind)


def _undoubled(texts: Sequence[str]) -> Sequence[str]:
    if not any(map(_WHOLE.fullmatch, texts)):
        return texts
    return [text[:-2] if _WHOLE.fullmatch(text) else text for text in texts]


HierarchySource = str | Path | Rows | Builder | Hierarchy
TableInput = str | Path | Mapping[str, Any] | Table
_TELLING = 0.9  # warn about columns without a role above this share of distinct values


def load(
    source: Any,  # noqa: ANN401 - a path, columns by name, or a frame of pandas, polars or Arrow
    identifiers: Sequence[str] = (),
    qi: Sequence[str] = (),
    confidential: Sequence[str] = (),
    weight: str | None = None,
    hierarchies: "str | Path | Mapping[str, HierarchySource] | None" = None,
    sep: str | None = None,
    *,
    schema: str | Path | None = None,
    missing: Sequence[str] = ("",),
    text: Sequence[str] = (),
    quiet: bool = False,
    progress: Progress = lambda _: None,
) -> Table:
    """Read a table, and declare the roles and hierarchies of its columns.

    Parameters
    ----------
    source
        Path of a CSV, TSV, JSONL or Parquet file, a dict of columns, or a frame.
    identifiers, qi, confidential, weight
        Roles: columns to remove from every release; columns that an attacker may know; columns
        that an attacker must not learn; the sampling weight. All other columns are "other".
        Columns without a role that have more than 90 % distinct values cause a warning, because
        they may identify people.
    hierarchies
        By column: a path, rows of (value, level 1, ..., top), or a builder such as
        `veil.tables.intervals(width=10)`. Or a folder with a file per column, called ``age.csv``
        or ending in ``_age.csv``.
    sep
        Column separator of a file. Detected by default.
    schema
        TOML file with the roles, hierarchies and types of columns. Arguments take precedence.
    missing
        Strings in the file that mean a missing value.
    text
        Columns to read as text even though all their values look like numbers. A column is text
        without being listed if a value has a leading zero (02139), or is a number that no double
        represents exactly (a 19-digit account number), or if Parquet, Arrow or polars declare it
        as text. In all other columns 39, 39.0 and +39 are one number, which is released as 39.
    quiet
        Do not warn about columns that may identify people; see `telling`.
    progress
        Called with the number of bytes read so far.
    """
    if isinstance(text, str):
        raise InputError("'text' must be a list of column names, not a single string.")
    types: dict[str, Kind] = {} if schema is None else read_types(Path(schema))
    types |= dict.fromkeys(text, "text")
    columns, name = _columns(source, sep, missing, types, progress)
    sources: dict[str, Any] = {}
    roles: dict[str, Role] = {}
    if schema is not None:
        roles, sources = read_schema(Path(schema))
    explicit = roles_of(identifiers, qi, confidential, weight)
    roles = {column: role for column, role in roles.items() if column not in explicit} | explicit
    folder = Path(hierarchies) if isinstance(hierarchies, str | Path) else None
    if folder is None:
        sources |= _hierarchies_by_column(hierarchies)
    for column in (*roles, *sources, *types):
        if column not in columns:
            raise unknown_column(column, tuple(columns))
    table = Table(
        columns,
        roles,
        {column: Hierarchy.of(spec, columns[column], column) for column, spec in sources.items()},
        name,
    )
    if folder is not None:
        table = with_hierarchies(table, folder)
    _check_weight(table)
    if not quiet:
        _warn(table)
    return table


def _hierarchies_by_column(hierarchies: object) -> dict[str, Any]:
    if hierarchies is None:
        return {}
    if not isinstance(hierarchies, Mapping):
        raise InputError("Hierarchies must be a folder, or a dict with one entry per column.")
    return dict(hierarchies)


def roles_of(
    identifiers: Sequence[str], qi: Sequence[str], confidential: Sequence[str], weight: str | None
) -> dict[str, Role]:
    """Return the role of each listed column; raise an error if a column is listed twice."""
    roles: dict[str, Role] = {}
    listed: list[tuple[Role, Sequence[str]]] = [
        ("identifier", identifiers),
        ("qi", qi),
        ("confidential", confidential),
        ("weight", () if weight is None else (weight,)),
    ]
    for role, names in listed:
        if isinstance(names, str):
            raise InputError("Roles must be lists of column names, not single strings.")
        for name in names:
            if name in roles:
                raise InputError(f"The column '{name}' has two roles. It must have one.")
            roles[name] = role
    return roles


def _columns(
    source: Any,  # noqa: ANN401 - see load
    sep: str | None,
    missing: Sequence[str],
    types: Mapping[str, Kind],
    progress: Progress,
) -> tuple[dict[str, Column], str]:
    if isinstance(source, Table):
        columns = dict(source.held)
        retyped = {name: kind for name, kind in types.items() if name in columns}
        columns |= {
            name: Column.of_texts(columns[name].texts, (), kind) for name, kind in retyped.items()
        }
        return columns, source.name
    if isinstance(source, str | Path | HeldFile):
        path = Path(source) if isinstance(source, str) else source
        return read_columns(path, sep, missing, types, progress), path.stem
    if not isinstance(source, Mapping):
        from veil.tables.files import columns_of_frame, texts_of_frame

        columns = columns_of_frame(source)
        types = {**dict.fromkeys(texts_of_frame(source), "text"), **types}
        source = columns
    columns = {
        str(name): Column.of(values, types.get(str(name))) for name, values in source.items()
    }
    if not columns or not len(next(iter(columns.values()))):
        raise InputError("A table needs at least one column and one row.")
    return columns, "table"


def _check_weight(table: Table) -> None:
    weights = table.weights
    if weights is not None and not (
        weights.dtype == np.float64 and np.isfinite(weights).all() and (weights > 0).all()
    ):
        raise InputError("Sampling weights must be numbers above 0.")


def telling(table: Table) -> tuple[str, ...]:
    """Return the columns without a role whose values are nearly all distinct."""
    if len(table) < 2:
        return ()
    return tuple(
        name
        for name in table.of_role("other")
        if table.column(name).different > _TELLING * len(table)
    )


def _warn(table: Table) -> None:
    names = telling(table)
    if names:
        warnings.warn(
            f"Nearly all values are distinct in {', '.join(names)}, which have no role. Declare"
            " them as identifiers, quasi-identifiers or confidential.",
            UserWarning,
            stacklevel=3,
        )


@dataclass(frozen=True)
class Source:
    """Roles and other facts about the columns of a file, and of releases of it.

    Attributes
    ----------
    identifiers
        Columns to remove from every release, separated by commas.
    qi
        Columns that an attacker may know, separated by commas.
    confidential
        Columns that an attacker must not learn, separated by commas.
    weight
        Column of sampling weights.
    hierarchies
        Folder of hierarchies: age.csv, or ..._age.csv, for the column age.
    schema
        TOML file of roles and hierarchies; other options take precedence.
    sep
        Character between columns, if it cannot be detected.
    missing
        Text that stands for a missing value; repeatable.
    text
        Columns of codes that look like numbers, separated by commas: 39 and 39.0 then differ.
    """

    identifiers: Columns = ()
    qi: Columns = ()
    confidential: Columns = ()
    weight: str | None = None
    hierarchies: Folder | None = None  # a text is taken for a path, too
    schema: File | None = None
    sep: str | None = None
    missing: tuple[str, ...] = ()
    text: Columns = ()

    def __post_init__(self) -> None:
        for name in ("hierarchies", "schema"):
            path = getattr(self, name)
            object.__setattr__(self, name, None if path is None else Path(path))

    @property
    def silent(self) -> bool:
        """Whether no role is declared."""
        return not (self.identifiers or self.qi or self.confidential or self.schema)

    @property
    def types(self) -> dict[str, Kind]:
        """Declared types by column."""
        types: dict[str, Kind] = {} if self.schema is None else read_types(self.schema)
        return types | dict.fromkeys(self.text, "text")

    def opened(
        self, path: str | Path, progress: Progress = lambda _: None
    ) -> tuple[Table, list[str]]:
        """Return the original, and warnings about it."""
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
                text=self.text,
                progress=progress,
            )
        messages = [
            str(warning.message) for warning in raised if issubclass(warning.category, UserWarning)
        ]
        if self.hierarchies is not None:
            table = with_hierarchies(table, self.hierarchies)
        return table, messages

    def beside(self, path: Path) -> "Source":
        """Return a copy that uses the hierarchies next to a file, if they are named after it.

        For ``adult.csv`` these are files such as ``adult_hierarchy_age.csv``. Declared hierarchies
        take precedence.
        """
        columns = (*self.qi, *self.confidential)
        if self.hierarchies is not None or self.schema is not None or not columns:
            return self
        own = f"{path.name.split('.')[0]}_hierarchy_"
        try:
            files = hierarchy_files(path.parent, columns).values()
        except InputError:
            return self
        if not files or not all(file.name.startswith(own) for file in files):
            return self
        return replace(self, hierarchies=path.parent)

    def with_roles(self, roles: Mapping[str, str] | None) -> "Source":
        """Return a copy with the roles of a card; declared roles take precedence."""
        if not self.silent or not roles:
            return self
        by_role = {role: tuple(name for name in roles if roles[name] == role) for role in ROLES}
        weight = by_role["weight"][0] if by_role["weight"] else None
        return replace(self, qi=by_role["qi"], confidential=by_role["confidential"], weight=weight)

    def declared(self, names: Sequence[str]) -> tuple[dict[str, Role], dict[str, Any]]:
        """Return the declared roles and hierarchies of a file with these columns."""
        roles, sources = ({}, {}) if self.schema is None else read_schema(self.schema)
        weight = () if self.weight is None else (self.weight,)
        explicit = roles_of(self.identifiers, self.qi, self.confidential, None)
        roles = {**roles, **explicit, **dict.fromkeys(weight, "weight")}
        for name in (*roles, *sources, *self.types):
            if name not in names:
                raise unknown_column(name, names)
        if self.hierarchies is not None:
            declared = [name for name in names if roles.get(name) in ("qi", "confidential")]
            sources |= hierarchy_files(self.hierarchies, declared or names)
        return roles, sources

    def released(
        self,
        path: Path,
        roles: Mapping[str, str] | None = None,
        types: Mapping[str, Kind] | None = None,
    ) -> Table:
        """Return the table of a released file, whose values may be labels.

        `roles` and `types` are those of the card. Declared roles take precedence. Two spellings of
        a value are two values.
        """
        all_types: dict[str, Kind] = {**self.types, **(types or {})}
        table = Table(read_columns(path, types=all_types, verbatim=True), name=path.stem)
        declared: dict[str, Role] = {}
        if self.silent:
            declared = {name: role for name, role in (roles or {}).items() if name in table}  # type: ignore[misc]
        if self.schema is not None:
            declared = {
                name: role for name, role in read_schema(self.schema)[0].items() if name in table
            }
        for role, names in self._declared_roles():
            for name in names:
                if name not in table:
                    raise unknown_column(name, table.columns)
                declared[name] = role
        table = replace(table, roles=declared)
        if self.hierarchies is None:
            return table
        return with_hierarchies(table, self.hierarchies, table.confidential)

    def _declared_roles(self) -> list[tuple[Role, Sequence[str]]]:
        weight = () if self.weight is None else (self.weight,)
        return [("qi", self.qi), ("confidential", self.confidential), ("weight", weight)]


def at_worst(table: Table) -> tuple[Table, list[str]]:
    """Treat columns without a role as known to the attacker, if no quasi-identifier is declared.

    This is the worst case. Returns the table, and a note for the user.
    """
    others = table.of_role("other")
    if table.qi or not others:
        return table, []
    roles = {**table.roles, **dict.fromkeys(others, "qi")}
    note = f"No quasi-identifier is declared. We assume that attackers know {', '.join(others)}."
    return replace(table, roles=cast(Mapping[str, Role], roles)), [note]


def with_hierarchies(table: Table, folder: Path, names: Sequence[str] | None = None) -> Table:
    """Return the table with the hierarchies of a folder.

    Reads those of `names`; by default of the quasi-identifiers and confidential columns, or of all
    columns if no roles are declared.
    """
    declared = (*table.qi, *table.confidential) or table.columns
    columns = declared if names is None else tuple(names)
    files = hierarchy_files(folder, columns)
    hierarchies = {
        name: Hierarchy.of(path, table.column(name), name) for name, path in files.items()
    }
    return replace(table, hierarchies={**table.hierarchies, **hierarchies})


def hierarchy_files(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the hierarchy file of each column that has one: ``age.csv`` or ``..._age.csv``."""
    if not folder.is_dir():
        raise InputError(f"The hierarchy folder {folder} does not exist.")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv")
    by_column: dict[str, Path] = {}
    for name in names:
        matches = [path for path in files if path.stem == name]
        matches = matches or [path for path in files if path.stem.endswith(f"_{name}")]
        if len(matches) > 1:
            raise InputError(
                f"The folder {folder} has {len(matches)} files for the column '{name}'. Keep one."
            )
        if matches:
            by_column[name] = matches[0]
    return by_column
