"""What the page of tables has room for: beyond it, it says what to do instead."""

from dataclasses import replace
from math import prod

import numpy as np

from veil.core.component import summary
from veil.tables.describe import describe
from veil.tables.hierarchy import TOP, Hierarchy, builder
from veil.tables.methods import METHODS
from veil.tables.presets import STRENGTHS, unfit
from veil.tables.table import Table
from veil.web.faults import StatusError
from veil.web.table_answers import MethodAnswer

MOST = 3_000  # rows of one request
COLUMNS = 60
KNOWN = 12  # quasi-identifiers
ALL_OR_NOTHING = "the value or nothing"
_CELLS = 18_000  # that a person may be found by, where single ones are suppressed
_NODES = 20_000  # combinations of levels that are searched
_ELSE = "or use 'veil tables' on the command line"
NOBODY = "Say which columns an attacker may know, to see who could be found."
TOO_MANY = f"This page measures at most {KNOWN} known columns; say which of them are not, {_ELSE}."


def check_size(table: Table) -> None:
    """Refuse a table that is too much for a page, or cannot be measured."""
    if len(table) > MOST or len(table.columns) > COLUMNS:
        raise StatusError(
            422,
            f"This page takes at most {MOST:,} rows and {COLUMNS} columns of a file; use 'veil"
            " tables' on the command line for more.",
        )
    for name in table.columns:
        if table.column(name).numeric and np.isinf(table[name]).any():
            raise StatusError(422, f"The column '{name}' has numbers that are too large.")


def unmeasured(table: Table) -> str:
    """Say why nothing can be measured with these roles, or nothing."""
    if not table.qi:
        return NOBODY
    return TOO_MANY if len(table.qi) > KNOWN else ""


def ready(table: Table, method: str) -> tuple[Table, dict[str, str]]:
    """Give columns hierarchies if a method needs them, and say how they were built, or refuse."""
    table.require_qi()
    if unmeasured(table):
        raise StatusError(422, TOO_MANY)
    wide = len(table) * len(table.qi)
    if method == "suppress" and wide > _CELLS:
        raise StatusError(
            422,
            f"suppress would look at {wide:,} known cells, and on this page at most {_CELLS:,};"
            f" say that fewer columns are known, choose mondrian, {_ELSE}.",
        )
    if "hierarchies" not in METHODS.get(method).needs:
        return table, {}
    return _built(table, method)


def methods(table: Table) -> list[MethodAnswer]:
    """Say what each method of the page does, and why not here."""
    return [
        MethodAnswer(name=name, says=summary(METHODS.get(name)), unfit=_unfit(table, name))
        for name in STRENGTHS
    ]


def _unfit(table: Table, method: str) -> str:
    if unmeasured(table):
        return ""  # of all of them, and told elsewhere
    try:
        return unfit(method, ready(table, method)[0])
    except StatusError as error:
        return str(error)


def _built(table: Table, method: str) -> tuple[Table, dict[str, str]]:
    seen = describe(table)
    built = {name: seen[name].proposal.hierarchy or ALL_OR_NOTHING for name in table.qi}
    hierarchies = {name: _hierarchy(table, name, by) for name, by in built.items()}
    nodes = prod(one.height + 1 for one in hierarchies.values())
    if nodes > _NODES:
        raise StatusError(
            422,
            f"{method} would search {nodes:,} combinations of levels, and on this page at most"
            f" {_NODES:,}; say that fewer columns are known, choose mondrian, {_ELSE}.",
        )
    return replace(table, hierarchies=hierarchies), built


def _hierarchy(table: Table, name: str, by: str) -> Hierarchy:
    """Build the hierarchy of a column: by a builder, or its values and nothing above."""
    column = table.column(name)
    if not column.different:
        raise StatusError(422, f"The column '{name}' is empty; give it another role.")
    made = builder(by)
    return Hierarchy.of(made or [[label, TOP] for label in column.categories], column, name)
