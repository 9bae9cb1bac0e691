"""The contract of masking methods, and the release that they return."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, cast

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.tables.table import Table

Kind = Literal["numeric", "categorical", "any", "confidential", "all"]
Alone = Literal["", "row", "value"]
UNIT = "record"
GROUPS = (2, 3, 5, 10, 20, 50, 100)  # sizes of groups to choose from
_FEW = 4  # groups that a table must have room for

Presets = Callable[[Table], Sequence[str]]


class Grid(NamedTuple):
    """Values of one parameter that a study compares; `groups` are sizes of groups of rows."""

    spec: str
    parameter: str
    values: tuple[float, ...]
    groups: bool = False


def group_sizes(table: Table) -> list[int]:
    """Return the sizes of groups of which a table has room for four; 2 in any case."""
    return [k for k in GROUPS if k * _FEW <= len(table)] or [2]


def nothing(caveat: str = "") -> Guarantee:
    """Return that nothing is proved."""
    return Guarantee("none", unit=UNIT, caveat=caveat)


@dataclass(frozen=True, eq=False)
class Masked:
    """What a method made of a table; the fields are those of `veil.tables.mechanism.Release`."""

    table: Table
    rows: Ids | None
    guarantee: Guarantee | None = None  # None: that of the method
    levels: Mapping[str, int] = field(default_factory=dict)
    suppressed: int = 0
    groups: Ids | None = None
    kept: Mapping[str, object] = field(default_factory=dict)


class Mechanism(Component):
    """Masks a table.

    `kind` says which columns it works on unless they are named: numeric, categorical or any
    quasi-identifiers, the confidential columns, or all columns. `random` says whether anything is
    drawn. `family` groups methods that work alike, `needs` says what must be declared ("qi",
    "hierarchies"), `changes` whether rows keep their places ("values") or not.

    `presets` returns specs for a table, each protecting more than the last. A mechanism that has
    them is offered on pages: a request can then name it with any of its parameters, so none of
    these may name something to open. `most_cells` is the number of known cells (rows times
    quasi-identifiers) beyond which a page does not wait for it. `grid` is compared by `veil tables
    choose` if no mechanism is named, on tables that the mechanism `fits`.
    """

    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset()
    kind: ClassVar[Kind] = "any"
    random: ClassVar[bool] = True
    presets: ClassVar[Presets | None] = None
    most_cells: ClassVar[int | None] = None
    grid: ClassVar[Grid | None] = None

    @classmethod
    def fits(cls, table: Table) -> bool:
        """Whether every quasi-identifier is of its kind, and has the hierarchy that it needs."""
        names = table.require_qi()
        if "hierarchies" in cls.needs and not all(name in table.hierarchies for name in names):
            return False
        numeric = [table.column(name).numeric for name in names]
        return {"numeric": all(numeric), "categorical": not any(numeric)}.get(cls.kind, True)

    @property
    def alone(self) -> Alone:
        """What a masked value depends on: all rows (""), its own row, or the value alone.

        "row": whatever the others are, so that rows can be masked block by block, and what is
        proved for single records holds through it. "value": equal values become equal, once it is
        known which there are.
        """
        return ""

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of a release, whatever the table; by default nothing."""
        return nothing()

    @abstractmethod
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Mask the columns; identifiers are gone already."""

    def chosen(self, table: Table, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return the columns that are masked: those named, or the usual ones of this kind."""
        if columns is not None:
            if isinstance(columns, str):
                raise InputError("Columns are given as a list of names, not as one text.")
            named = tuple(columns)
            if len(set(named)) < len(named):
                raise InputError(f"A column is named twice for {self.name}; name each once.")
            for name in named:
                column = table.column(name)
                if self.kind == "numeric" and not column.numeric:
                    raise InputError(f"{self.name} is for numbers; the column '{name}' has texts.")
            if not named:
                raise InputError(f"{self.name} needs at least one column.")
            return named
        return self._usual(table)

    def _usual(self, table: Table) -> tuple[str, ...]:
        if self.kind == "all":
            return table.columns
        if self.kind == "confidential":
            if not table.confidential:
                raise InputError(
                    f"{self.name} works on confidential columns; declare them, or name columns."
                )
            return table.confidential
        wanted = {"numeric": True, "categorical": False}.get(self.kind)
        names = tuple(
            name
            for name in table.require_qi()
            if wanted is None or table.column(name).numeric == wanted
        )
        if not names:
            raise InputError(
                f"No quasi-identifier is {self.kind}, as {self.name} needs; name the columns."
            )
        return names


@brief("method", "table", "seeded", "suppressed")
@dataclass(frozen=True, eq=False)
class Release:
    """A masked table.

    Attributes
    ----------
    table
        What is released; it has no identifier.
    method
        Specs of what made it, in order.
    guarantee
        What is proved of it.
    seeded
        Whether who knows the seed can repeat the draws: **not private**.
    levels
        By column the level of its hierarchy, for methods that generalise whole columns.
    suppressed
        How many rows were removed.
    rows
        Which row of the original each released row is, for measuring; None for synthetic data.
        Never written to a file.
    groups
        A label for each released row, of methods that make groups, or None.
    kept
        What else a method must remember to be inverted or attacked, by name; public.
    """

    table: Table
    method: str
    guarantee: Guarantee
    seeded: bool = False
    levels: Mapping[str, int] = field(default_factory=dict)
    suppressed: int = 0
    rows: Ids | None = None
    groups: Ids | None = None
    kept: Mapping[str, object] = field(default_factory=dict)

    @property
    def mechanism(self) -> str:
        """Spec of what made it, as releases of all kinds have it."""
        return self.method

    @property
    def cost(self) -> Guarantee:
        """What is proved of it, as releases of all kinds have it."""
        return self.guarantee

    @property
    def given_up(self) -> tuple[str, ...]:
        """Columns that are generalised to the top, so that their values are gone."""
        return top_columns(self.table, self.levels)

    def __len__(self) -> int:
        return len(self.table)


def top_columns(table: Table, levels: Mapping[str, int]) -> tuple[str, ...]:
    """Return the columns of which a release has the top of the hierarchy alone."""
    known = table.hierarchies
    return tuple(
        name for name, level in levels.items() if name in known and level >= known[name].height > 0
    )


def invert(release: Release, column: str) -> Mapping[str, float]:
    """Return an unbiased estimate of the share of each category before randomisation.

    The shares of what was released are multiplied by the inverse of the matrix: P^-T f. An
    estimate may be below 0 or above 1, where noise is larger than the share; cutting it would make
    the estimates biased.
    """
    if not isinstance(release, Release):
        raise InputError("Inverted is a release of a table, which tables.protect makes.")
    matrices = cast(Mapping[str, tuple[tuple[str, ...], Floats]], release.kept.get("pram", {}))
    if column not in matrices:
        raise InputError(
            f"The column '{column}' was not randomised by a known matrix (pram, random_response)."
        )
    categories, matrix = matrices[column]
    texts = release.table.column(column)
    place = {label: i for i, label in enumerate(categories)}
    at = np.array([place[label] for label in texts.categories], dtype=np.int64)
    codes = texts.codes[texts.codes >= 0]
    counts = np.bincount(at[codes], minlength=len(categories))
    if np.linalg.cond(matrix) > 1e12:
        raise InputError("The matrix cannot be inverted: what was released tells nothing.")
    shares = np.linalg.solve(matrix.T, counts / max(1, counts.sum()))
    return {label: float(share) for label, share in zip(categories, shares, strict=True)}
