"""Parse one SELECT into a tree, and resolve its names by the policy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from veil.core.errors import MissingExtraError, RefusedError
from veil.core.formatting import printable
from veil.dp.sql.engine import quote_name
from veil.dp.sql.schema import ListedColumn, Table

_ASK = "Use counts, sums, averages and quantiles of listed columns"


def refuse_extras(node: Any, *allowed: str) -> None:  # noqa: ANN401 - sqlglot's
    """Refuse a node with other arguments than `allowed`: nothing is silently ignored."""
    for name, value in node.args.items():
        empty = value is None or value is False or value == []
        if not empty and name.rstrip("_") not in allowed:
            clause = f"{node_type(node)} with {name.rstrip('_').replace('_', ' ')}"
            raise RefusedError(f"A query with {clause.upper()} is not supported. {_ASK}.")


def node_type(node: Any) -> str:  # noqa: ANN401 - sqlglot's
    """Return the exact type of a node, not one that it inherits."""
    return type(node).__name__


def argument(node: Any, name: str) -> Any:  # noqa: ANN401 - sqlglot's
    """Return an argument of a node, under either spelling of sqlglot versions."""
    value = node.args.get(name)
    return node.args.get(f"{name}_") if value is None else value


def strip_brackets(node: Any) -> Any:  # noqa: ANN401 - sqlglot's
    """Remove the parentheses around a node."""
    while node_type(node) == "Paren":
        refuse_extras(node, "this")
        node = node.this
    return node


def refusal(node: Any) -> RefusedError:  # noqa: ANN401 - sqlglot's
    """Return the error for an unsupported node."""
    what = (
        "".join(f" {letter}" if letter.isupper() else letter for letter in node_type(node))
        .strip()
        .upper()
    )
    return RefusedError(f"A query with {what} is not supported. {_ASK}.")


def name_of(node: Any) -> tuple[str, bool]:  # noqa: ANN401 - sqlglot's
    """Return an identifier, and whether it was quoted."""
    if node_type(node) != "Identifier":
        raise refusal(node)
    refuse_extras(node, "this", "quoted")
    return str(node.this), bool(node.args.get("quoted"))


def match_name(name: str, quoted: bool, listed: Any) -> str | None:  # noqa: ANN401 - an iterable
    """Return the listed name that equals `name`, or else matches it regardless of case."""
    names = list(listed)
    if name in names:
        return name
    near = [candidate for candidate in names if candidate.casefold() == name.casefold()]
    return near[0] if not quoted and len(near) == 1 else None


_CHARACTERS = 10_000
_TOKENS = 3_000
_DEPTH = 60  # of parentheses
_OPENING, _CLOSING = ("L_PAREN", "L_BRACKET", "L_BRACE"), ("R_PAREN", "R_BRACKET", "R_BRACE")
_NAMED = (
    "COLON",
    "PARAMETER",
    "HINT",
    "BLOCK_START",
    "BLOCK_END",
)  # neither named parameters nor hints
_NOT_UNDERSTOOD = "The query cannot be parsed. It must be one SELECT."


def parse(query: str) -> tuple[Any, int]:
    """Return the tree of a query, and its number of ``?``.

    Each ``?`` is numbered first, because its position in the tree does not show its order in the
    text.
    """
    try:
        import sqlglot
        from sqlglot.errors import ParseError, SqlglotError
    except ImportError as error:
        raise MissingExtraError("Private SQL needs sqlglot: pip install 'veil[sql]'.") from error

    if not isinstance(query, str) or not query.strip():
        raise RefusedError("A query must be a string with one SELECT.")
    if len(query) > _CHARACTERS:
        raise RefusedError(f"A query must have at most {_CHARACTERS:,} characters. Shorten it.")
    try:
        text, count = _numbered(query, sqlglot.tokenize(query))
        trees = sqlglot.parse(text)
    except RecursionError:
        raise RefusedError("The query is nested too deeply. Simplify it.") from None
    except ParseError as error:
        raise RefusedError(_NOT_UNDERSTOOD + _place(error)) from None
    except (SqlglotError, ValueError, TypeError, LookupError, AttributeError):
        raise RefusedError(_NOT_UNDERSTOOD) from None
    if len(trees) != 1 or type(trees[0]).__name__ != "Select":
        raise RefusedError(_NOT_UNDERSTOOD)
    return trees[0], count


def _numbered(query: str, tokens: list[Any]) -> tuple[str, int]:
    """Check the tokens of a query, and number its ``?``."""
    kinds = [token.token_type.name for token in tokens]
    while kinds and kinds[-1] == "SEMICOLON":
        kinds.pop()
    if not kinds or kinds[0] != "SELECT" or "SEMICOLON" in kinds:
        raise RefusedError(_NOT_UNDERSTOOD)
    if len(kinds) > _TOKENS or _nesting(kinds) > _DEPTH:
        raise RefusedError(
            f"A query must have at most {_TOKENS:,} words and {_DEPTH} nested parentheses."
        )
    if any(kind in _NAMED for kind in kinds):
        raise RefusedError("A query can use only ? for parameters, and no hints.")
    pieces, after = [], 0
    marks = [token for token in tokens if token.token_type.name == "PLACEHOLDER"]
    for number, token in enumerate(marks):
        pieces += [query[after : token.start], f" :v{number} "]
        after = token.end + 1
    return "".join([*pieces, query[after:]]), len(marks)


def _nesting(kinds: list[str]) -> int:
    depth = deepest = 0
    for kind in kinds:
        depth += (kind in _OPENING) - (kind in _CLOSING)
        deepest = max(deepest, depth)
    return deepest


def _place(error: Any) -> str:  # noqa: ANN401 - sqlglot's
    """Return the line and column of a parse error as a sentence."""
    first = error.errors[0] if error.errors else {}
    line, column = first.get("line"), first.get("col")
    return f" Look at line {line}, near column {column}." if line and column else ""


_JOINS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A listed column in a query, and the number of its table."""

    at: int  # number of the table
    listed: ListedColumn

    @property
    def sql(self) -> str:
        """The column, quoted and qualified."""
        return f"t{self.at}.{quote_name(self.listed.column.name)}"

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.listed.column.name


@dataclass(frozen=True, slots=True)
class Sources:
    """The tables of a query, by the name that the query gives them."""

    tables: tuple[tuple[str, Table], ...]

    @property
    def first(self) -> Table:
        """The table after FROM."""
        return self.tables[0][1]

    @property
    def max_rows(self) -> int:
        """Maximum number of joined rows of a unit that count."""
        return math.prod([table.max_rows for _, table in self.tables])

    @property
    def max_groups(self) -> int:
        """Maximum number of groups that a unit counts in."""
        return math.prod([table.max_groups for _, table in self.tables])

    def find(self, node: Any) -> Place:  # noqa: ANN401 - sqlglot's
        """Return the listed column that a node names, or raise RefusedError."""
        refuse_extras(node, "this", "table")
        name, exact = name_of(node.this)
        places = [
            Place(at, table.columns[column])
            for at, table in self._within(argument(node, "table"))
            if (column := match_name(name, exact, table.columns)) is not None
        ]
        if not places:
            raise RefusedError(
                f"Column '{printable(name)}' is not listed in the policy for these tables."
            )
        if len(places) > 1:
            raise RefusedError(
                f"Column '{printable(name)}' is ambiguous. Write it as TABLE.{printable(name)}."
            )
        return places[0]

    def is_unit(self, node: Any) -> bool:  # noqa: ANN401 - sqlglot's
        """Return whether a node names the unit column."""
        if node_type(node) != "Column":
            return False
        name, exact = name_of(node.this)
        units = [table.unit.name for _, table in self._within(argument(node, "table"))
                 if table.unit is not None]  # fmt: skip
        return match_name(name, exact, dict.fromkeys(units)) is not None

    def _within(self, node: Any) -> list[tuple[int, Table]]:  # noqa: ANN401 - sqlglot's
        """Return the tables that a column may belong to, with their numbers."""
        numbered = [(at, table) for at, (_, table) in enumerate(self.tables)]
        if node is None:
            return numbered
        name, exact = name_of(node)
        alias = match_name(name, exact, [alias for alias, _ in self.tables])
        if alias is None:
            raise RefusedError(
                f"The query uses columns of '{printable(name)}', which is not in FROM or JOIN."
            )
        return [numbered[[label for label, _ in self.tables].index(alias)]]


def sources_of(select: Any, tables: Mapping[str, Table]) -> Sources:  # noqa: ANN401 - sqlglot's
    """Return the tables after FROM and JOIN."""
    start = argument(select, "from")
    if start is None:
        raise RefusedError("A query needs a table after FROM.")
    refuse_extras(start, "this")
    sources = [_listed_table(start.this, tables)]
    joins = argument(select, "joins") or []
    if len(joins) > _JOINS:
        raise RefusedError(f"A query can have at most {_JOINS} JOINs.")
    for join in joins:
        sources.append(_joined(join, tables, sources[0][1]))
    if len({alias.casefold() for alias, _ in sources}) < len(sources):
        raise RefusedError("Tables of a query must have distinct names. Rename one with AS.")
    return Sources(tuple(sources))


def _listed_table(node: Any, tables: Mapping[str, Table]) -> tuple[str, Table]:  # noqa: ANN401
    """Return a table of the policy, with the name that the query gives it."""
    if node_type(node) != "Table":
        raise refusal(node)
    refuse_extras(node, "this", "db", "alias")
    parts = [name_of(part) for part in (argument(node, "db"), node.this) if part is not None]
    name = ".".join(part for part, _ in parts)
    key = match_name(name, all(exact for _, exact in parts), tables)
    if key is None:
        raise RefusedError(
            f"Table '{printable(name)}' is not listed in the policy. Listed:"
            f" {', '.join(map(printable, tables))}."
        )
    alias = argument(node, "alias")
    if alias is None:
        return parts[-1][0], tables[key]
    refuse_extras(alias, "this")
    return name_of(alias.this)[0], tables[key]


def _joined(join: Any, tables: Mapping[str, Table], first: Table) -> tuple[str, Table]:  # noqa: ANN401
    """Return a table that is joined by the unit of the first table."""
    refuse_extras(join, "this", "using", "kind")
    using = join.args.get("using") or []
    entry = _listed_table(join.this, tables)
    unit, other = first.unit, entry[1].unit
    if unit is None or other is None or unit.name != other.name:
        raise RefusedError("Tables can be joined only if both have the same unit in the policy.")
    if (
        (join.args.get("kind") or "INNER") != "INNER"
        or len(using) != 1
        or (match_name(*name_of(using[0]), [unit.name]) is None)
    ):
        raise RefusedError(
            f"Tables can be joined only with USING ({printable(unit.name)}), the privacy unit."
        )
    if unit.declared != other.declared:
        raise RefusedError("Tables can be joined only if their units have the same type.")
    return entry
