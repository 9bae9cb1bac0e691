"""Literals and bound values of a query, as Python has them."""

from collections.abc import Sequence
from typing import Any

from veil.core.errors import RefusedError
from veil.dp.database.terms import Constant, constant
from veil.dp.database.whitelist import kind_of, only, refused


def value_of(node: Any, values: Sequence[object]) -> Constant:  # noqa: ANN401 - sqlglot's
    """Return the constant that a node is."""
    kind = kind_of(node)
    if kind == "Null":
        only(node)
        return Constant(None)
    if kind == "Boolean":
        only(node, "this")
        return Constant(int(bool(node.this)))
    if kind == "Placeholder":
        only(node, "this")
        return constant(values[int(str(node.this).removeprefix("v"))])
    if kind != "Literal":
        raise refused(node)
    only(node, "this", "is_string")
    text = str(node.this)
    return constant(text if node.args.get("is_string") else _number(text))


def _number(text: str) -> int | float:
    try:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 400 else float(text)
    except ValueError:
        raise RefusedError("A number in the query is not understood.") from None
