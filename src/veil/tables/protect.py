"""The one door from a table, or a table of counts, to a release."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Ids
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import CellMechanism, CellRelease, protect_cells
from veil.tables.mechanism import Masked, Mechanism, Release, nothing
from veil.tables.mechanisms import mechanism as named
from veil.tables.table import Table

_BUDGETS = ("dp", "local-dp")
_MIXED = (
    "The method before made rows of several records, so that a budget for each row is none for"
    " each record; give the method the table as it is."
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
    method: str | CellMechanism | Sequence[str | CellMechanism],
    columns: None = None,
    rng: Randomness = None,
) -> CellRelease: ...
def protect(
    table: Any,
    method: Any,
    columns: Sequence[str] | None = None,
    rng: Randomness = None,
) -> Release | CellRelease:
    """Release a masked table, or table of counts, or nothing at all.

    Parameters
    ----------
    table
        What to protect.
    method
        A method, its spec, or a list that is applied in order.
    columns
        The columns to work on; by default those that a method is for.
    rng
        None for fresh randomness of the operating system. A seed or a generator makes the release
        repeatable, which is for experiments: it is marked as seeded and **not private**.
    """
    if isinstance(table, Cells):
        if columns is not None:
            raise ParameterError("Cells have no columns to choose; tabulate says what they count.")
        return protect_cells(table, method, rng)
    if not isinstance(table, Table):
        raise InputError("What is protected is a table of tables.load, or cells of tabulate.")
    several = isinstance(method, Sequence) and not isinstance(method, str)
    steps = [named(one) for one in (method if several else [method])]
    if not steps:
        raise ParameterError("Name at least one method.")
    draws = generator(rng)
    state = Masked(table.without(table.of_role("identifier")), np.arange(len(table)))
    proved: Guarantee | None = None
    for number, step in enumerate(steps):
        chosen = step.chosen(state.table, columns)
        state.table.require_finite(chosen)
        masked = step.mask(state.table, chosen, draws)
        told = masked.guarantee if masked.guarantee is not None else step.guarantee
        apart = all(earlier.alone == "row" for earlier in steps[:number])
        proved = told if proved is None else _after(proved, told, apart=apart)
        state = _joined(state, masked)
    assert proved is not None  # noqa: S101 - there is at least one step
    return Release(
        state.table,
        " | ".join(map(str, steps)),
        proved,
        rng is not None and any(step.random for step in steps),
        state.levels,
        state.suppressed,
        state.rows,
        state.groups,
        state.kept,
    )


def _joined(before: Masked, after: Masked) -> Masked:
    """Follow rows through two methods."""
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


def _after(first: Guarantee, then: Guarantee, *, apart: bool) -> Guarantee:
    """Return what is proved when one method works on what another made.

    `apart` says that until now each row was masked by itself: else one record may be in many rows,
    and a budget for each row is none for each record.
    """
    if first.kind in _BUDGETS:  # whatever is done with such a release afterwards
        return first
    if then.kind in _BUDGETS and not apart:
        return nothing(_MIXED)
    return (
        then
        if then.kind != "none"
        else then.with_caveat(
            "What the first method gave is not proved of what the next one made of it."
            if first.kind != "none"
            else ""
        )
    )
