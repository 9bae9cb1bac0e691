"""HAVING and ORDER BY: computed on noisy outputs, which may be looked at as one likes.

NULL is None, and what is compared with it is unknown. A division by 0 is NULL, as in the database.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from veil.core.errors import RefusedError
from veil.dp.database.literals import value_of
from veil.dp.database.whitelist import bare, kind_of, only, refused

Value = int | float | str | bool | None
Row = Sequence[Value]  # keys, then what every aggregate of the query gave
Step = Callable[[Row], Value]
Find = Callable[[Any], int | None]  # where in a row what a node names is

_DEPTH = 60


def _compare(name: str, a: Value, b: Value) -> bool | None:
    if a is None or b is None:
        return None
    if isinstance(a, str) != isinstance(b, str):
        raise RefusedError("Only values of one kind can be compared with each other.")
    order = (a > b) - (a < b)  # type: ignore[operator]
    return {"EQ": order == 0, "NEQ": order != 0, "LT": order < 0, "LTE": order <= 0,
            "GT": order > 0, "GTE": order >= 0}[name]  # fmt: skip


def _calculate(name: str, a: Value, b: Value) -> Value:
    if a is None or b is None:
        return None
    if isinstance(a, str) or isinstance(b, str):
        raise RefusedError("A text cannot be calculated with.")
    x, y = float(a), float(b)
    if name == "Div":
        return x / y if y else None
    found = {"Add": x + y, "Sub": x - y, "Mul": x * y}[name]
    return found if math.isfinite(found) else None


def _both(name: str, a: Value, b: Value) -> bool | None:
    told = {None if one is None else bool(one) for one in (a, b)}
    settling = name == "Or"
    if settling in told:
        return settling
    return None if None in told else not settling


_PAIRS: dict[str, Callable[[str, Value, Value], Value]] = {
    **dict.fromkeys(("EQ", "NEQ", "LT", "LTE", "GT", "GTE"), _compare),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _calculate),
    **dict.fromkeys(("And", "Or"), _both),
}


class After:
    """Makes steps of nodes; `find` says where a key, an alias or an aggregate is in a row."""

    def __init__(self, find: Find, values: Sequence[object]) -> None:
        self._find, self._values = find, values
        self._depth = 0

    def step(self, node: Any) -> Step:  # noqa: ANN401 - sqlglot's
        """Return what computes a node for a row."""
        node = bare(node)
        at = self._find(node)
        if at is not None:
            return lambda row: row[at]
        self._depth += 1
        if self._depth > _DEPTH:
            raise RefusedError("The query is nested too deeply; write it in a simpler way.")
        try:
            return self._made(node)
        finally:
            self._depth -= 1

    def _made(self, node: Any) -> Step:  # noqa: ANN401 - sqlglot's
        kind = kind_of(node)
        if kind in _PAIRS:
            return self._pair(kind, node)
        if kind in ("Literal", "Placeholder", "Boolean", "Null"):
            value = value_of(node, self._values).value
            return lambda _: value
        if kind == "Not":
            only(node, "this")
            inner = self.step(node.this)
            return lambda row: None if (found := inner(row)) is None else not found
        if kind == "Neg":
            only(node, "this")
            inner = self.step(node.this)
            return lambda row: _calculate("Sub", 0, inner(row))
        if kind == "Between":
            return self._between(node)
        raise refused(node)

    def _pair(self, kind: str, node: Any) -> Step:  # noqa: ANN401 - sqlglot's
        only(node, "this", "expression", "typed", "safe")
        one, other = self.step(node.this), self.step(node.expression)
        work = _PAIRS[kind]
        return lambda row: work(kind, one(row), other(row))

    def _between(self, node: Any) -> Step:  # noqa: ANN401 - sqlglot's
        only(node, "this", "low", "high")
        x, low, high = (self.step(node.args[name]) for name in ("this", "low", "high"))
        return lambda row: _both(
            "And", _compare("GTE", x(row), low(row)), _compare("LTE", x(row), high(row))
        )
