"""Pieces of statements: every name in them is one of ours, or quoted; every value is bound."""

from collections.abc import Sequence


def select(
    columns: Sequence[str], source: str, where: Sequence[str] = (), by: Sequence[str] = ()
) -> str:
    """Return a SELECT.

    >>> select(["a", "COUNT(*)"], "t", ["b > 1"], ["a"])
    'SELECT a, COUNT(*) FROM t WHERE b > 1 GROUP BY a'
    """
    words = ["SELECT", ", ".join(columns), "FROM", source]
    words += ["WHERE", " AND ".join(where)] if where else []
    words += ["GROUP BY", ", ".join(by)] if by else []
    return " ".join(words)


def within(query: str, name: str) -> str:
    """Return a query as a source of rows."""
    return f"({query}) AS {name}"


def part(name: str, query: str, *, kept: bool = False) -> str:
    """Return a part of a WITH; one that is `kept` is computed once."""
    return f"{name} AS {'MATERIALIZED ' if kept else ''}({query})"


def ranked(function: str, parts: Sequence[str], order: Sequence[str], name: str) -> str:
    """Return a place of a row among those that are alike in `parts`."""
    over = f"PARTITION BY {', '.join(parts)} ORDER BY {', '.join(order)}"
    return f"{function}() OVER ({over}) AS {name}"


def of(table: str, names: Sequence[str]) -> list[str]:
    """Return columns of a table.

    >>> of("t", ["a", "b"])
    ['t.a', 't.b']
    """
    return [f"{table}.{name}" for name in names]


def same(one: str, other: str, names: Sequence[str]) -> list[str]:
    """Return that two tables agree in columns, NULL included."""
    return [f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in names]
