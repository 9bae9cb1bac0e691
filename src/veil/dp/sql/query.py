"""Parsed queries: tables, rows, groups, aggregates, HAVING and ORDER BY.

HAVING and ORDER BY are computed on noisy outputs, so they cost nothing more.

NULL is None, and comparisons with it are unknown. Division by 0 is NULL, as in the database.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from veil.core.errors import RefusedError
from veil.core.formatting import printable
from veil.dp.sql.conditions import value_of
from veil.dp.sql.parsing import (
    Place,
    Sources,
    argument,
    match_name,
    name_of,
    node_type,
    parse,
    refusal,
    refuse_extras,
    sources_of,
    strip_brackets,
)
from veil.dp.sql.quantities import Count, Distinct, Quantity, Rank, Sum, Units
from veil.dp.sql.schema import Table

_NAMES = {
    "Avg": "AVG", "Sum": "SUM", "Median": "MEDIAN", "Quantile": "QUANTILE",
    "Variance": "VARIANCE", "VariancePop": "VAR_POP", "Stddev": "STDDEV",
    "StddevSamp": "STDDEV", "StddevPop": "STDDEV_POP",
}  # fmt: skip
_SPELT = {"VAR": "VARIANCE", "STDDEV_SAMP": "STDDEV", "VAR_SAMP": "VARIANCE"}  # unknown to sqlglot


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function of a group, and the quantities that it needs."""

    name: str
    label: str
    needs: tuple[Quantity, ...]


def is_aggregate(node: Any) -> bool:  # noqa: ANN401 - sqlglot's
    """Return whether a node is an aggregate function."""
    return node_type(node) == "Count" or node_type(node) in _NAMES or _spelt(node) is not None


def aggregate_of(node: Any, sources: Sources, values: Sequence[object]) -> Aggregate:  # noqa: ANN401
    """Return the aggregate of a node, over listed columns."""
    if node_type(node) == "Count":
        return _count(node, sources)
    spelt = _spelt(node)
    if spelt is not None:
        refuse_extras(node, "this", "expressions")
        (inner,) = node.args["expressions"]
        return _moments(spelt, _bounded(inner, sources, spelt))
    name = _NAMES[node_type(node)]
    if name in ("MEDIAN", "QUANTILE"):
        return _rank(node, name, sources, values)
    refuse_extras(node, "this")
    return _moments(name, _bounded(node.this, sources, name))


def _spelt(node: Any) -> str | None:  # noqa: ANN401 - sqlglot's
    """Return an aggregate function that sqlglot does not know, or None."""
    if node_type(node) != "Anonymous" or len(node.args.get("expressions") or []) != 1:
        return None
    return _SPELT.get(str(node.this).upper())


def _count(node: Any, sources: Sources) -> Aggregate:  # noqa: ANN401 - sqlglot's
    refuse_extras(node, "this", "big_int")
    inner = strip_brackets(node.this)
    if node_type(inner) == "Star":
        refuse_extras(inner)
        return Aggregate("COUNT", "COUNT(*)", (Count(),))
    if node_type(inner) != "Distinct":
        place = _listed(inner, sources)
        return Aggregate("COUNT", f"COUNT({place.name})", (Count(place),))
    refuse_extras(inner, "expressions")
    columns = [strip_brackets(item) for item in inner.args["expressions"]]
    if len(columns) != 1:
        raise RefusedError("COUNT(DISTINCT ...) takes one column.")
    if sources.is_unit(columns[0]):
        unit = sources.first.unit
        label = f"COUNT(DISTINCT {unit.name if unit else ''})"
        return Aggregate("COUNT", label, (Units(),))
    place = _listed(columns[0], sources)
    return Aggregate("COUNT", f"COUNT(DISTINCT {place.name})", (Distinct(place),))


def _rank(node: Any, name: str, sources: Sources, values: Sequence[object]) -> Aggregate:  # noqa: ANN401
    refuse_extras(node, "this", "quantile")
    share: object = 0.5
    if name == "QUANTILE":
        share = value_of(strip_brackets(node.args["quantile"]), values).value
    if isinstance(share, str) or share is None or not 0 <= share <= 1:  # type: ignore[operator]
        raise RefusedError("QUANTILE takes a column and a share from 0 to 1.")
    place, q = _bounded(node.this, sources, name), float(share)  # type: ignore[arg-type]
    label = f"MEDIAN({place.name})" if name == "MEDIAN" else f"QUANTILE({place.name}, {q:g})"
    return Aggregate("QUANTILE", label, (Rank(place, q),))


def _moments(name: str, place: Place) -> Aggregate:
    label = f"{name}({place.name})"
    if name == "SUM":
        return Aggregate(name, label, (Sum(place),))
    if name == "AVG":
        return Aggregate(name, label, (Count(place), Sum(place, 1)))
    return Aggregate(name, label, (Count(place), Sum(place, 1), Sum(place, 2)))


def _listed(node: Any, sources: Sources) -> Place:  # noqa: ANN401 - sqlglot's
    node = strip_brackets(node)
    if node_type(node) != "Column":
        raise (
            refusal(node)
            if node_type(node) == "Star"
            else RefusedError(
                "Aggregate functions take one listed column each, not an expression."
            )
        )
    return sources.find(node)


def _bounded(node: Any, sources: Sources, name: str) -> Place:  # noqa: ANN401 - sqlglot's
    place = _listed(node, sources)
    if place.listed.bounds is None:
        raise RefusedError(
            f"{name} needs a column with bounds. The policy has no bounds for"
            f" '{printable(place.name)}'."
        )
    return place


Value = int | float | str | bool | None
Row = Sequence[Value]  # keys, then all aggregates of the query
Step = Callable[[Row], Value]
Find = Callable[[Any], int | None]  # position in a row of what a node names

_DEPTH = 60


def _compare(name: str, a: Value, b: Value) -> bool | None:
    if a is None or b is None:
        return None
    if isinstance(a, str) != isinstance(b, str):
        raise RefusedError("Only values of the same kind can be compared.")
    order = (a > b) - (a < b)  # type: ignore[operator]
    return {"EQ": order == 0, "NEQ": order != 0, "LT": order < 0, "LTE": order <= 0,
            "GT": order > 0, "GTE": order >= 0}[name]  # fmt: skip


def _calculate(name: str, a: Value, b: Value) -> Value:
    if a is None or b is None:
        return None
    if isinstance(a, str) or isinstance(b, str):
        raise RefusedError("Arithmetic needs numbers, not text.")
    x, y = float(a), float(b)
    if name == "Div":
        return x / y if y else None
    result = {"Add": x + y, "Sub": x - y, "Mul": x * y}[name]
    return result if math.isfinite(result) else None


def _connect(name: str, a: Value, b: Value) -> bool | None:
    truths = {None if value is None else bool(value) for value in (a, b)}
    settling = name == "Or"
    if settling in truths:
        return settling
    return None if None in truths else not settling


_PAIRS: dict[str, Callable[[str, Value, Value], Value]] = {
    **dict.fromkeys(("EQ", "NEQ", "LT", "LTE", "GT", "GTE"), _compare),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _calculate),
    **dict.fromkeys(("And", "Or"), _connect),
}


class After:
    """Compiles nodes into functions of a row; `find` locates keys, aliases and aggregates."""

    def __init__(self, find: Find, values: Sequence[object]) -> None:
        self._find, self._values = find, values
        self._depth = 0

    def step(self, node: Any) -> Step:  # noqa: ANN401 - sqlglot's
        """Return the function that computes a node for a row."""
        node = strip_brackets(node)
        at = self._find(node)
        if at is not None:
            return lambda row: row[at]
        self._depth += 1
        if self._depth > _DEPTH:
            raise RefusedError("The query is nested too deeply. Simplify it.")
        try:
            return self._compile(node)
        finally:
            self._depth -= 1

    def _compile(self, node: Any) -> Step:  # noqa: ANN401 - sqlglot's
        kind = node_type(node)
        if kind in _PAIRS:
            return self._pair(kind, node)
        if kind in ("Literal", "Placeholder", "Boolean", "Null"):
            value = value_of(node, self._values).value
            return lambda _: value
        if kind == "Not":
            refuse_extras(node, "this")
            inner = self.step(node.this)
            return lambda row: None if (truth := inner(row)) is None else not truth
        if kind == "Neg":
            refuse_extras(node, "this")
            inner = self.step(node.this)
            return lambda row: _calculate("Sub", 0, inner(row))
        if kind == "Between":
            return self._between(node)
        raise refusal(node)

    def _pair(self, kind: str, node: Any) -> Step:  # noqa: ANN401 - sqlglot's
        refuse_extras(node, "this", "expression", "typed", "safe")
        first, second = self.step(node.this), self.step(node.expression)
        work = _PAIRS[kind]
        return lambda row: work(kind, first(row), second(row))

    def _between(self, node: Any) -> Step:  # noqa: ANN401 - sqlglot's
        refuse_extras(node, "this", "low", "high")
        x, low, high = (self.step(node.args[name]) for name in ("this", "low", "high"))
        return lambda row: _connect(
            "And", _compare("GTE", x(row), low(row)), _compare("LTE", x(row), high(row))
        )


_CLAUSES = ("expressions", "from", "joins", "where", "group", "having", "order", "limit", "offset")
_OUTPUTS, _KEYS = 100, 8


class Output(NamedTuple):
    """A column of the answer: its name, and its position among keys and aggregates."""

    label: str
    at: int


class Order(NamedTuple):
    """One term of ORDER BY."""

    step: Step
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed SELECT; `where` is still a tree, to be written for an engine."""

    sources: Sources
    where: Any
    keys: tuple[Place, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: Step | None
    orders: tuple[Order, ...]
    limit: int | None
    offset: int
    values: tuple[object, ...]


def read_query(text: str, tables: Mapping[str, Table], values: Sequence[object]) -> Query:
    """Parse a query, or raise RefusedError."""
    select, count = parse(text)
    if count != len(values):
        raise RefusedError(
            f"The query has {count} ? and needs as many values. Got {len(values)} instead."
        )
    try:
        return _Reader(select, tables, tuple(values)).read()
    except RecursionError:
        raise RefusedError("The query is nested too deeply. Simplify it.") from None


class _Reader:
    """Parses one SELECT."""

    def __init__(
        self,
        select: Any,  # noqa: ANN401 - sqlglot's
        tables: Mapping[str, Table],
        values: tuple[object, ...],
    ) -> None:
        refuse_extras(select, *_CLAUSES)
        self._select, self._values = select, values
        self._sources = sources_of(select, tables)
        self._keys = self._grouped()
        self._aggregates: dict[Aggregate, int] = {}
        self._outputs: list[Output] = []

    def read(self) -> Query:
        where = self._clause("where")
        for node in self._select.args["expressions"]:
            self._outputs.append(self._output(node))
        if not self._outputs or len(self._outputs) > _OUTPUTS:
            raise RefusedError(f"A query must SELECT 1 to {_OUTPUTS} columns.")
        having, orders = self._having(), self._ordered()
        self._rehearse([*([having] if having else []), *(order.step for order in orders)])
        return Query(
            self._sources,
            where,
            self._keys,
            tuple(self._aggregates),
            tuple(self._outputs),
            having,
            orders,
            self._number("limit"),
            self._number("offset") or 0,
            self._values,
        )

    def _rehearse(self, steps: Sequence[Step]) -> None:
        """Run HAVING and ORDER BY on sample values, to raise errors before the charge."""
        keys: list[Value] = [0 if key.listed.column.kind == "number" else "" for key in self._keys]
        for step in steps:
            step([*keys, *[0.5] * len(self._aggregates)])

    def _clause(self, name: str) -> Any:  # noqa: ANN401 - sqlglot's
        node = argument(self._select, name)
        if node is None:
            return None
        refuse_extras(node, "this")
        return node.this

    def _grouped(self) -> tuple[Place, ...]:
        group = argument(self._select, "group")
        if group is None:
            return ()
        refuse_extras(group, "expressions")
        nodes = [strip_brackets(node) for node in group.args.get("expressions") or []]
        if not nodes or len(nodes) > _KEYS or any(node_type(node) != "Column" for node in nodes):
            raise RefusedError(f"GROUP BY takes the names of 1 to {_KEYS} listed columns.")
        if any(map(self._sources.is_unit, nodes)):
            raise RefusedError(
                "A query cannot GROUP BY the unit, because that would reveal single units."
            )
        return tuple(dict.fromkeys(map(self._sources.find, nodes)))

    def _output(self, node: Any) -> Output:  # noqa: ANN401 - sqlglot's
        alias = None
        if node_type(node) == "Alias":
            refuse_extras(node, "this", "alias")
            alias, node = name_of(node.args["alias"])[0], node.this
        node = strip_brackets(node)
        if is_aggregate(node):
            at = self._aggregate(node)
            return Output(alias or self._labels()[at - len(self._keys)], at)
        if node_type(node) != "Column":
            raise RefusedError(
                "A query can SELECT only counts, sums, averages, variances and quantiles of listed"
                " columns, and columns of GROUP BY."
            )
        place = self._sources.find(node)
        if place not in self._keys:
            raise RefusedError(
                f"Column '{printable(place.name)}' can be selected only if it is in GROUP BY."
            )
        return Output(alias or place.name, self._keys.index(place))

    def _labels(self) -> list[str]:
        return [aggregate.label for aggregate in self._aggregates]

    def _aggregate(self, node: Any) -> int:  # noqa: ANN401 - sqlglot's
        """Return the position of an aggregate in a row; equal aggregates share one."""
        aggregate = aggregate_of(node, self._sources, self._values)
        return len(self._keys) + self._aggregates.setdefault(aggregate, len(self._aggregates))

    def _find(self, node: Any, *, names_first: bool) -> int | None:  # noqa: ANN401 - sqlglot's
        """Return the position in a row of an aggregate, a key or a named output."""
        if is_aggregate(node):
            return self._aggregate(node)
        if node_type(node) != "Column":
            return None
        ways: list[Callable[[Any], int | None]] = [self._key, self._output_index]
        for way in reversed(ways) if names_first else ways:
            at = way(node)
            if at is not None:
                return at
        raise RefusedError(
            "HAVING and ORDER BY can use only SELECTed columns, columns of GROUP BY, and"
            " aggregate functions."
        )

    def _key(self, node: Any) -> int | None:  # noqa: ANN401 - sqlglot's
        try:
            place = self._sources.find(node)
        except RefusedError:
            return None
        return self._keys.index(place) if place in self._keys else None

    def _output_index(self, node: Any) -> int | None:  # noqa: ANN401 - sqlglot's
        if argument(node, "table") is not None:
            return None
        name = match_name(*name_of(node.this), [output.label for output in self._outputs])
        return next((output.at for output in self._outputs if output.label == name), None)

    def _having(self) -> Step | None:
        node = self._clause("having")
        if node is None:
            return None
        return After(lambda item: self._find(item, names_first=False), self._values).step(node)

    def _ordered(self) -> tuple[Order, ...]:
        order = argument(self._select, "order")
        if order is None:
            return ()
        refuse_extras(order, "expressions")
        return tuple(self._by(node) for node in order.args["expressions"])

    def _by(self, node: Any) -> Order:  # noqa: ANN401 - sqlglot's
        refuse_extras(node, "this", "desc", "nulls_first")
        what = strip_brackets(node.this)
        down, nulls = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        if node_type(what) == "Literal":
            number = value_of(what, ()).value
            if not isinstance(number, int) or not 1 <= number <= len(self._outputs):
                raise RefusedError("A number in ORDER BY must be that of a SELECTed column.")
            at = self._outputs[number - 1].at
            return Order(lambda row: row[at], down, nulls)
        steps = After(lambda item: self._find(item, names_first=True), self._values)
        return Order(steps.step(what), down, nulls)

    def _number(self, name: str) -> int | None:
        clause = argument(self._select, name)
        if clause is None:
            return None
        if node_type(clause) not in ("Limit", "Offset"):
            raise RefusedError("The number of rows must be set with LIMIT and OFFSET.")
        refuse_extras(clause, "expression")
        number = value_of(strip_brackets(clause.args["expression"]), self._values).value
        if not isinstance(number, int) or number < 0:
            raise RefusedError(f"{name.upper()} takes an integer >= 0.")
        return number
