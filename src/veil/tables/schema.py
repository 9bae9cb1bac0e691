"""The role and the hierarchy of each column, and reading a table with them.

::

    [columns.age]
    role = "qi"
    hierarchy = "adult_hierarchy_age.csv"     # beside the schema, or intervals(width=10, steps=3)

    [columns.zip]
    type = "text"                             # or number; by default as the values look
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
    """Return the roles, and what the hierarchies are made of, by column."""
    roles: dict[str, Role] = {}
    hierarchies: dict[str, Any] = {}
    for name, told in _schema_columns(path).items():
        role = told.get("role", "other")
        if role not in ROLES:
            raise InputError(
                f"In {path.name} the role of '{name}' must be one of {', '.join(ROLES)}."
            )
        roles[name] = cast(Role, role)
        if "hierarchy" in told:
            hierarchies[name] = _hierarchy(told["hierarchy"], path)
    return roles, hierarchies


def read_types(path: Path) -> dict[str, Kind]:
    """Return the columns of which a schema says that they have texts, or numbers."""
    made: dict[str, Kind] = {}
    for name, told in _schema_columns(path).items():
        kind = told.get("type")
        if kind is not None and kind not in _TYPES:
            raise InputError(f"In {path.name} the type of '{name}' must be text or number.")
        if kind is not None:
            made[name] = cast(Kind, kind)
    return made


def _schema_columns(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a schema says of each column."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"The schema {path.name} cannot be read.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InputError(f"The schema {path.name} is no TOML file.") from None
    columns = found.get("columns")
    if set(found) != {"columns"} or not isinstance(columns, dict):
        raise InputError(f"The schema {path.name} must have one table, [columns].")
    for told in columns.values():
        if not isinstance(told, dict) or not set(told) <= _KEYS:
            raise InputError(
                f"In {path.name} a column has the keys role, hierarchy and type alone."
            )
    return columns


def _hierarchy(told: object, path: Path) -> Any:  # noqa: ANN401 - a path or a builder
    if not isinstance(told, str):
        raise InputError(f"In {path.name} a hierarchy is a file or a builder, as a text.")
    made = builder(told)
    return path.parent / told if made is None else made


BLOCK = 50_000  # rows
Block = tuple[Sequence[str], ...]  # the texts of each column
_WHOLE = re.compile(r"-?\d+\.0")


def read_blocks(
    path: AnyFile, sep: str | None = None, rows: int = BLOCK, progress: Progress = lambda _: None
) -> tuple[tuple[str, ...], Iterator[Block]]:
    """Return the names of the columns of a file, and its rows, so many at a time.

    Whole numbers that a Parquet file holds as doubles are read as a table writes them: 39.
    """
    header, found = read_table(path, (), DelimitedLayout(delimiter=sep, cased=True), progress)
    doubles = [False] * len(header.names)
    if isinstance(path, Path) and path.suffix.lower() == ".parquet":
        texts = parquet_texts(path)
        doubles = [name not in texts for name in header.names]

    def blocks() -> Iterator[Block]:
        while part := [row.values for row in islice(found, rows)]:
            yield tuple(
                _undoubled(column) if double else column
                for column, double in zip(zip(*part, strict=True), doubles, strict=True)
            )

    return header.names, blocks()


def own_types(path: AnyFile) -> dict[str, Kind]:
    """Return the columns of which a file itself says that they have texts: Parquet does."""
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
    """Read a file whole; equal texts of a column are one object.

    `types` say of some columns that they have texts, or numbers. In a released file (`verbatim`)
    values that are spelled in two ways are two: whoever has the file sees both.
    """
    names, blocks = read_blocks(path, sep, progress=progress)
    types = own_types(path) | dict(types or {})
    gathered = [_Gathered(missing) for _ in names]
    for block in blocks:
        for one, texts in zip(gathered, block, strict=True):
            one.add(texts)
    if not gathered or not len(gathered[0]):
        raise InputError(f"{path.name} has no rows.")
    return {
        name: one.column(types.get(name), verbatim=verbatim)
        for name, one in zip(names, gathered, strict=True)
    }


class _Gathered(dict[str, int]):
    """Numbers the different texts of a column as they come, and keeps the numbers of its rows."""

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
_TELLING = 0.9  # share of different values from which a column without a role is pointed out


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
        `veil.tables.intervals(width=10)`. Or a folder with a file for each column that has one:
        ``age.csv``, or one that ends in ``_age.csv``.
    sep
        What separates the columns of a file, where the file does not tell.
    schema
        TOML file with the roles, hierarchies and types of columns; what is given here wins over
        it.
    missing
        Texts of a file that mean that a value is missing.
    text
        Columns of texts, though all their values look like numbers. A column in which a value has
        a leading zero (02139), or a number that no double holds (an account of 19 digits), or that
        Parquet, Arrow or polars call text, is one without being named. Of all others 39, 39.0 and
        +39 are one number, and are released as 39.
    quiet
        Whether to keep still about columns that tell rows apart: see `telling`.
    progress
        Called with the number of bytes of a file that have been read.
    """
    if isinstance(text, str):
        raise InputError("Columns of texts are given as a list of columns, not as one text.")
    types: dict[str, Kind] = {} if schema is None else read_types(Path(schema))
    types |= dict.fromkeys(text, "text")
    held, name = _columns(source, sep, missing, types, progress)
    given: dict[str, Any] = {}
    roles: dict[str, Role] = {}
    if schema is not None:
        roles, given = read_schema(Path(schema))
    told = roles_of(identifiers, qi, confidential, weight)
    roles = {column: role for column, role in roles.items() if column not in told} | told
    folder = Path(hierarchies) if isinstance(hierarchies, str | Path) else None
    if folder is None:
        given |= _hierarchies_by_column(hierarchies)
    for column in (*roles, *given, *types):
        if column not in held:
            raise unknown_column(column, tuple(held))
    table = Table(
        held,
        roles,
        {column: Hierarchy.of(told_as, held[column], column) for column, told_as in given.items()},
        name,
    )
    if folder is not None:
        table = with_hierarchies(table, folder)
    _check_weight(table)
    if not quiet:
        _warn(table)
    return table


def _hierarchies_by_column(given: object) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError("Hierarchies are a folder of files, or a dict of one for each column.")
    return dict(given)


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
    types: Mapping[str, Kind],
    progress: Progress,
) -> tuple[dict[str, Column], str]:
    if isinstance(source, Table):
        held = dict(source.held)
        again = {name: kind for name, kind in types.items() if name in held}
        held |= {name: Column.of_texts(held[name].texts, (), kind) for name, kind in again.items()}
        return held, source.name
    if isinstance(source, str | Path | HeldFile):
        path = Path(source) if isinstance(source, str) else source
        return read_columns(path, sep, missing, types, progress), path.stem
    if not isinstance(source, Mapping):
        from veil.tables.files import columns_of_frame, texts_of_frame

        columns = columns_of_frame(source)
        types = {**dict.fromkeys(texts_of_frame(source), "text"), **types}
        source = columns
    held = {str(name): Column.of(values, types.get(str(name))) for name, values in source.items()}
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


@dataclass(frozen=True)
class Source:
    """Roles and other facts about the columns of a file, and of releases of it.

    Attributes
    ----------
    identifiers
        Columns that no release has, separated by commas.
    qi
        Columns that an attacker may know, separated by commas.
    confidential
        Columns that must not be learnt, separated by commas.
    weight
        Column of sampling weights.
    hierarchies
        Folder of hierarchies: age.csv, or ..._age.csv, for the column age.
    schema
        TOML file of roles and hierarchies; other options win over it.
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
        """Whether nothing is said of any column."""
        return not (self.identifiers or self.qi or self.confidential or self.schema)

    @property
    def types(self) -> dict[str, Kind]:
        """Columns that are said to have texts, or numbers."""
        told: dict[str, Kind] = {} if self.schema is None else read_types(self.schema)
        return told | dict.fromkeys(self.text, "text")

    def opened(
        self, path: str | Path, progress: Progress = lambda _: None
    ) -> tuple[Table, list[str]]:
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
                text=self.text,
                progress=progress,
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
        for name in (*roles, *given, *self.types):
            if name not in names:
                raise unknown_column(name, names)
        if self.hierarchies is not None:
            wanted = [name for name in names if roles.get(name) in ("qi", "confidential")]
            given |= hierarchy_files(self.hierarchies, wanted or names)
        return roles, given

    def released(
        self,
        path: Path,
        roles: Mapping[str, str] | None = None,
        types: Mapping[str, Kind] | None = None,
    ) -> Table:
        """Open a release: its values may be labels, and identifiers are gone.

        `roles` are those of its card, which count where nothing else is said; `types` say which of
        its columns have texts. Values that the file spells in two ways are two.
        """
        known: dict[str, Kind] = {**self.types, **(types or {})}
        table = Table(read_columns(path, types=known, verbatim=True), name=path.stem)
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
