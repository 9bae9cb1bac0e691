"""What the names of a query stand for: listed tables under their aliases, and listed columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from veil.core.errors import RefusedError
from veil.core.formatting import printable
from veil.dp.database.engines.engine import quoted
from veil.dp.database.schema import Listed, Table
from veil.dp.database.whitelist import argument, kind_of, matched, name_of, only, refused

_JOINS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A listed column in a query: where it is, and what it is."""

    at: int  # number of the table
    listed: Listed

    @property
    def sql(self) -> str:
        """The column, quoted and qualified."""
        return f"t{self.at}.{quoted(self.listed.column.name)}"

    @property
    def name(self) -> str:
        """Its name."""
        return self.listed.column.name


@dataclass(frozen=True, slots=True)
class Sources:
    """The tables of a query, each under the name that the query gives it."""

    tables: tuple[tuple[str, Table], ...]

    @property
    def first(self) -> Table:
        """The table after FROM."""
        return self.tables[0][1]

    @property
    def max_rows(self) -> int:
        """How many rows of a unit count, of all tables joined."""
        return _product([table.max_rows for _, table in self.tables])

    @property
    def max_groups(self) -> int:
        """In how many groups a unit counts."""
        return _product([table.max_groups for _, table in self.tables])

    def find(self, node: Any) -> Place:  # noqa: ANN401 - sqlglot's
        """Return the listed column that a node names, or refuse."""
        only(node, "this", "table")
        name, exact = name_of(node.this)
        places = [
            Place(at, table.columns[column])
            for at, table in self._within(argument(node, "table"))
            if (column := matched(name, exact, table.columns)) is not None
        ]
        if not places:
            raise RefusedError(
                f"The column '{printable(name)}' is not listed in the policy for these tables;"
                " only listed columns can be named."
            )
        if len(places) > 1:
            raise RefusedError(
                f"The column '{printable(name)}' is in several tables; write the table before it."
            )
        return places[0]

    def is_unit(self, node: Any) -> bool:  # noqa: ANN401 - sqlglot's
        """Tell whether a node names the column that says whose a row is."""
        if kind_of(node) != "Column":
            return False
        name, exact = name_of(node.this)
        units = [table.unit.name for _, table in self._within(argument(node, "table"))
                 if table.unit is not None]  # fmt: skip
        return matched(name, exact, dict.fromkeys(units)) is not None

    def _within(self, node: Any) -> list[tuple[int, Table]]:  # noqa: ANN401 - sqlglot's
        """Return the tables that a column may be of, with their numbers."""
        numbered = [(at, table) for at, (_, table) in enumerate(self.tables)]
        if node is None:
            return numbered
        name, exact = name_of(node)
        alias = matched(name, exact, [alias for alias, _ in self.tables])
        if alias is None:
            raise RefusedError(f"The query has no table '{printable(name)}' to take columns from.")
        return [numbered[[one for one, _ in self.tables].index(alias)]]


def sources_of(select: Any, tables: Mapping[str, Table]) -> Sources:  # noqa: ANN401 - sqlglot's
    """Return the tables after FROM and JOIN."""
    start = argument(select, "from")
    if start is None:
        raise RefusedError("A query must have a table after FROM.")
    only(start, "this")
    found = [_named(start.this, tables)]
    joins = argument(select, "joins") or []
    if len(joins) > _JOINS:
        raise RefusedError(f"A query must have at most {_JOINS} tables after JOIN.")
    for join in joins:
        found.append(_joined(join, tables, found[0][1]))
    if len({alias.casefold() for alias, _ in found}) < len(found):
        raise RefusedError("Tables of a query must have different names; give one another by AS.")
    return Sources(tuple(found))


def _named(node: Any, tables: Mapping[str, Table]) -> tuple[str, Table]:  # noqa: ANN401
    """Return a table of the policy, and what the query calls it."""
    if kind_of(node) != "Table":
        raise refused(node)
    only(node, "this", "db", "alias")
    parts = [name_of(part) for part in (argument(node, "db"), node.this) if part is not None]
    name = ".".join(part for part, _ in parts)
    key = matched(name, all(exact for _, exact in parts), tables)
    if key is None:
        raise RefusedError(
            f"The table '{printable(name)}' is not listed in the policy. Listed:"
            f" {', '.join(map(printable, tables))}."
        )
    alias = argument(node, "alias")
    if alias is None:
        return parts[-1][0], tables[key]
    only(alias, "this")
    return name_of(alias.this)[0], tables[key]


def _joined(join: Any, tables: Mapping[str, Table], first: Table) -> tuple[str, Table]:  # noqa: ANN401
    """Return a table that is joined by the unit, which must be that of the first."""
    only(join, "this", "using", "kind")
    using = join.args.get("using") or []
    named = _named(join.this, tables)
    unit, other = first.unit, named[1].unit
    if unit is None or other is None or unit.name != other.name:
        raise RefusedError("Tables can be joined only if both have the same unit in the policy.")
    if (
        (join.args.get("kind") or "INNER") != "INNER"
        or len(using) != 1
        or (matched(*name_of(using[0]), [unit.name]) is None)
    ):
        raise RefusedError(
            f"Tables are joined by USING ({printable(unit.name)}), the unit, alone."
        )
    if unit.declared != other.declared:
        raise RefusedError("Tables can be joined only if their units are of the same type.")
    return named


def _product(numbers: list[int]) -> int:
    found = 1
    for number in numbers:
        found *= number
    return found
