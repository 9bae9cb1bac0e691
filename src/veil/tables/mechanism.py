"""The contract of mechanisms, the release of a table, and `protect`, which creates it."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, cast, overload

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Cells
from veil.tables.table import Table

if TYPE_CHECKING:  # they need this module
    from veil.tables.cells.release import CellMechanism, CellRelease

Kind = Literal["numeric", "categorical", "any", "confidential", "all"]
Alone = Literal["", "row", "value"]
UNIT = "record"
_BUDGETS = ("dp", "local-dp")
_MIXED = (
    "An earlier mechanism made rows out of several records, so a budget for each row is not one"
    " for each record. Apply this mechanism to the original table."
)
GROUPS = (2, 3, 5, 10, 20, 50, 100)  # sizes of groups to choose from
_FEW = 4  # a table must be large enough for this many groups

Presets = Callable[[Table], Sequence[str]]


class Grid(NamedTuple):
    """Values of one parameter that a study compares; `groups` means that they are group sizes."""

    spec: str
    parameter: str
    values: tuple[float, ...]
    groups: bool = False


def group_sizes(table: Table) -> list[int]:
    """Return the group sizes that let the table have at least four groups, or [2]."""
    return [k for k in GROUPS if k * _FEW <= len(table)] or [2]


def nothing(caveat: str = "") -> Guarantee:
    """Return a guarantee that proves nothing."""
    return Guarantee("none", unit=UNIT, caveat=caveat)


@dataclass(frozen=True, eq=False)
class Masked:
    """A table that was masked by one mechanism; the fields are those of `Release`."""

    table: Table
    rows: Ids | None
    guarantee: Guarantee | None = None  # None: the mechanism's own
    levels: Mapping[str, int] = field(default_factory=dict)
    suppressed: int = 0
    groups: Ids | None = None
    kept: Mapping[str, object] = field(default_factory=dict)


class Mechanism(Component):
    """Masks a table.

    `kind` is the kind of columns it works on by default: numeric, categorical or any
    quasi-identifiers, the confidential columns, or all columns. `random` is whether it uses
    randomness. `family` groups similar mechanisms, and `needs` lists what must be declared
    ("qi", "hierarchies").

    `presets` returns specs for a table, each protecting more than the last. Pages offer mechanisms
    with presets. A request can then set any of their parameters, so no parameter may name a file
    to open. Above `most_cells` known cells (rows times quasi-identifiers) a page does not wait for
    the result. `veil tables choose` compares the values of `grid` by default, on tables that the
    mechanism `fits`.
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
        """Return whether all quasi-identifiers have the kind and the hierarchies that it needs."""
        names = table.require_qi()
        if "hierarchies" in cls.needs and not all(name in table.hierarchies for name in names):
            return False
        numeric = [table.column(name).numeric for name in names]
        return {"numeric": all(numeric), "categorical": not any(numeric)}.get(cls.kind, True)

    @property
    def alone(self) -> Alone:
        """What a masked value depends on: all rows (""), its own row, or its own value.

        With "row", rows can be masked block by block, and guarantees for single records survive
        this mechanism. With "value", equal values become equal, given the set of all values.
        """
        return ""

    @property
    def guarantee(self) -> Guarantee:
        """What is proved about the release of any table; nothing by default."""
        return nothing()

    @abstractmethod
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Mask the columns of a table without identifiers."""

    def chosen(self, table: Table, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return the columns to mask: `columns`, or by default all of this kind."""
        if columns is None:
            return self._usual(table)
        if isinstance(columns, str):
            raise InputError("Columns must be a list of names, not a single string.")
        names = tuple(columns)
        if len(set(names)) < len(names):
            raise InputError(f"A column is listed twice for {self.name}. List each once.")
        for name in names:
            column = table.column(name)
            if self.kind == "numeric" and not column.numeric:
                raise InputError(f"{self.name} needs numbers. The column '{name}' has text.")
        if not names:
            raise InputError(f"{self.name} needs at least one column.")
        return names

    def _usual(self, table: Table) -> tuple[str, ...]:
        if self.kind == "all":
            return table.columns
        if self.kind == "confidential":
            if not table.confidential:
                raise InputError(
                    f"{self.name} works on confidential columns. Declare them, or name columns."
                )
            return table.confidential
        numeric = {"numeric": True, "categorical": False}.get(self.kind)
        names = tuple(
            name
            for name in table.require_qi()
            if numeric is None or table.column(name).numeric == numeric
        )
        if not names:
            raise InputError(
                f"{self.name} needs {self.kind} quasi-identifiers, and there are none. Name the"
                " columns."
            )
        return names


@brief("method", "table", "seeded", "suppressed")
@dataclass(frozen=True, eq=False)
class Release:
    """A masked table.

    Attributes
    ----------
    table
        The released table, without identifiers.
    method
        Specs of the mechanisms, in order.
    guarantee
        What is proved about the release.
    seeded
        Whether anyone who knows the seed can reproduce the release: **not private**.
    levels
        By column the level of its hierarchy, for mechanisms that generalise whole columns.
    suppressed
        Number of rows that were removed.
    rows
        Original row of each released row, for measuring; None for synthetic data.
        Never written to a file.
    groups
        A label for each released row, for mechanisms that form groups, or None.
    kept
        Public facts by name, which `invert` and attacks need.
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
        """Specs of the mechanisms. Releases in all domains have this property."""
        return self.method

    @property
    def cost(self) -> Guarantee:
        """What is proved about the release. Releases in all domains have this property."""
        return self.guarantee

    @property
    def given_up(self) -> tuple[str, ...]:
        """Columns that are fully generalised, so none of their values remain."""
        return top_columns(self.table, self.levels)

    def __len__(self) -> int:
        return len(self.table)


def top_columns(table: Table, levels: Mapping[str, int]) -> tuple[str, ...]:
    """Return the columns whose values are all generalised to the top."""
    hierarchies = table.hierarchies
    return tuple(
        name
        for name, level in levels.items()
        if name in hierarchies and level >= hierarchies[name].height > 0
    )


@overload
def protect(
    table: Table,
    method: str | Mechanism | Sequence[str | Mechanism],
    columns: Sequence[str] | None = None,
    rng: Randomness = None,
) -> Release: ...
@overload
def protect(
    table: Cells,
    method: "str | CellMechanism | Sequence[str | CellMechanism]",
    columns: None = None,
    rng: Randomness = None,
) -> "CellRelease": ...
def protect(
    table: Any,
    method: Any,
    columns: Sequence[str] | None = None,
    rng: Randomness = None,
) -> "Release | CellRelease":
    """Release a masked table or masked counts. If a step fails, nothing is released.

    Parameters
    ----------
    table
        A table from `tables.load`, or cells from `tables.tabulate`.
    method
        A mechanism, its spec, or a list of them, which are applied in order.
    columns
        Columns to mask. By default those that the mechanism is for.
    rng
        By default fresh randomness from the operating system. A seed or generator makes the
        release reproducible for experiments. It is then marked as seeded: **not private**.
    """
    from veil.tables.mechanisms import MECHANISMS

    if isinstance(table, Cells):
        from veil.tables.cells.release import protect_cells

        if columns is not None:
            raise ParameterError("Cells have no columns to choose. Choose them in tabulate.")
        return protect_cells(table, method, rng)
    if not isinstance(table, Table):
        raise InputError("protect needs a table from tables.load, or cells from tables.tabulate.")
    several = isinstance(method, Sequence) and not isinstance(method, str)
    steps: list[Mechanism] = [
        spec if isinstance(spec, Mechanism) else MECHANISMS.parse(spec)
        for spec in (method if several else [method])
    ]
    if not steps:
        raise ParameterError("Name at least one mechanism.")
    draws = generator(rng)
    state = Masked(table.without(table.of_role("identifier")), np.arange(len(table)))
    guarantee: Guarantee | None = None
    for number, step in enumerate(steps):
        names = step.chosen(state.table, columns)
        state.table.require_finite(names)
        masked = step.mask(state.table, names, draws)
        own = masked.guarantee if masked.guarantee is not None else step.guarantee
        by_row = all(earlier.alone == "row" for earlier in steps[:number])
        guarantee = own if guarantee is None else _after(guarantee, own, by_row=by_row)
        state = _joined(state, masked)
    assert guarantee is not None  # noqa: S101 - there is at least one step
    return Release(
        state.table,
        " | ".join(map(str, steps)),
        guarantee,
        rng is not None and any(step.random for step in steps),
        state.levels,
        state.suppressed,
        state.rows,
        state.groups,
        state.kept,
    )


def _joined(before: Masked, after: Masked) -> Masked:
    rows: Ids | None = None
    if before.rows is not None and after.rows is not None:
        rows = before.rows[after.rows]
    return Masked(
        after.table,
        rows,
        None,
        {**before.levels, **after.levels},
        before.suppressed + after.suppressed,
        after.groups,
        {**before.kept, **after.kept},
    )


def _after(first: Guarantee, second: Guarantee, *, by_row: bool) -> Guarantee:
    """Return what is proved when one mechanism is applied to the output of another.

    `by_row` is whether every row has been masked separately so far. Otherwise a record may
    influence many rows, and a budget for each row is not one for each record.
    """
    if first.kind in _BUDGETS:  # post-processing
        return first
    if second.kind in _BUDGETS and not by_row:
        return nothing(_MIXED)
    if second.kind != "none":
        return second
    lost = "The guarantee of the first mechanism does not hold after the next one."
    return second.with_caveat(lost if first.kind != "none" else "")


def invert(release: Release, column: str) -> Mapping[str, float]:
    """Return an unbiased estimate of the share of each category before randomisation.

    The released shares are multiplied by the inverse of the matrix: P^-T f. An estimate may be
    below 0 or above 1 if noise is larger than the share; clipping would bias it.
    """
    if not isinstance(release, Release):
        raise InputError("invert needs a release of a table, from tables.protect.")
    matrices = cast(Mapping[str, tuple[tuple[str, ...], Floats]], release.kept.get("pram", {}))
    if column not in matrices:
        raise InputError(
            f"The column '{column}' was not randomised by a known matrix (pram, random_response)."
        )
    categories, matrix = matrices[column]
    texts = release.table.column(column)
    index = {label: i for i, label in enumerate(categories)}
    positions = np.array([index[label] for label in texts.categories], dtype=np.int64)
    codes = texts.codes[texts.codes >= 0]
    counts = np.bincount(positions[codes], minlength=len(categories))
    if np.linalg.cond(matrix) > 1e12:
        raise InputError(
            "The matrix cannot be inverted: the released values carry no information."
        )
    shares = np.linalg.solve(matrix.T, counts / max(1, counts.sum()))
    return {label: float(share) for label, share in zip(categories, shares, strict=True)}
