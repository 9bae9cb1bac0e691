"""A query as it is understood: which tables, which rows, which groups, and what is to be told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from veil.core.errors import RefusedError
from veil.core.formatting import printable
from veil.dp.database.after import After, Step, Value
from veil.dp.database.aggregates import Aggregate, aggregate_of, is_aggregate
from veil.dp.database.literals import value_of
from veil.dp.database.names import Place, Sources, sources_of
from veil.dp.database.parsing import parsed
from veil.dp.database.schema import Table
from veil.dp.database.whitelist import argument, bare, kind_of, matched, name_of, only

_CLAUSES = ("expressions", "from", "joins", "where", "group", "having", "order", "limit", "offset")
_OUTPUTS, _KEYS = 100, 8


class Output(NamedTuple):
    """A column of the answer: its name, and where in a row of keys and aggregates it is."""

    label: str
    at: int


class Order(NamedTuple):
    """What the answer is sorted by."""

    step: Step
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Query:
    """What a SELECT asks for; `where` is still a tree, to be written for an engine."""

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
    """Understand a query, or refuse it."""
    select, count = parsed(text)
    if count != len(values):
        raise RefusedError(
            f"The query leaves {count} values open by ?, and {len(values)} were given."
        )
    try:
        return _Reader(select, tables, tuple(values)).read()
    except RecursionError:
        raise RefusedError("The query is nested too deeply; write it in a simpler way.") from None


class _Reader:
    """Reads one SELECT."""

    def __init__(
        self,
        select: Any,  # noqa: ANN401 - sqlglot's
        tables: Mapping[str, Table],
        values: tuple[object, ...],
    ) -> None:
        only(select, *_CLAUSES)
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
            raise RefusedError(f"A query must ask for 1 to {_OUTPUTS} columns.")
        having, orders = self._having(), self._ordered()
        self._rehearse([*([having] if having else []), *(one.step for one in orders)])
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
        """See that what comes after the noise fits together, before anything is charged."""
        keys: list[Value] = [0 if one.listed.column.kind == "number" else "" for one in self._keys]
        for step in steps:
            step([*keys, *[0.5] * len(self._aggregates)])

    def _clause(self, name: str) -> Any:  # noqa: ANN401 - sqlglot's
        node = argument(self._select, name)
        if node is None:
            return None
        only(node, "this")
        return node.this

    def _grouped(self) -> tuple[Place, ...]:
        group = argument(self._select, "group")
        if group is None:
            return ()
        only(group, "expressions")
        nodes = [bare(node) for node in group.args.get("expressions") or []]
        if not nodes or len(nodes) > _KEYS or any(kind_of(node) != "Column" for node in nodes):
            raise RefusedError(f"GROUP BY takes 1 to {_KEYS} listed columns, by their names.")
        if any(map(self._sources.is_unit, nodes)):
            raise RefusedError(
                "A query cannot GROUP BY the unit: what one unit has would be told of."
            )
        return tuple(dict.fromkeys(map(self._sources.find, nodes)))

    def _output(self, node: Any) -> Output:  # noqa: ANN401 - sqlglot's
        alias = None
        if kind_of(node) == "Alias":
            only(node, "this", "alias")
            alias, node = name_of(node.args["alias"])[0], node.this
        node = bare(node)
        if is_aggregate(node):
            at = self._aggregate(node)
            return Output(alias or self._labels()[at - len(self._keys)], at)
        if kind_of(node) != "Column":
            raise RefusedError(
                "A query must SELECT counts, sums, averages, variances and quantiles of listed"
                " columns, and columns of GROUP BY."
            )
        place = self._sources.find(node)
        if place not in self._keys:
            raise RefusedError(
                f"The column '{printable(place.name)}' can be told only as one of GROUP BY."
            )
        return Output(alias or place.name, self._keys.index(place))

    def _labels(self) -> list[str]:
        return [one.label for one in self._aggregates]

    def _aggregate(self, node: Any) -> int:  # noqa: ANN401 - sqlglot's
        """Return where in a row an aggregate is; each is there once."""
        found = aggregate_of(node, self._sources, self._values)
        return len(self._keys) + self._aggregates.setdefault(found, len(self._aggregates))

    def _find(self, node: Any, *, names_first: bool) -> int | None:  # noqa: ANN401 - sqlglot's
        """Return where in a row an aggregate, a key or a named output is."""
        if is_aggregate(node):
            return self._aggregate(node)
        if kind_of(node) != "Column":
            return None
        ways: list[Callable[[Any], int | None]] = [self._key, self._named]
        for way in reversed(ways) if names_first else ways:
            at = way(node)
            if at is not None:
                return at
        raise RefusedError(
            "HAVING and ORDER BY take what the query SELECTs, columns of GROUP BY, and functions"
            " of groups."
        )

    def _key(self, node: Any) -> int | None:  # noqa: ANN401 - sqlglot's
        try:
            place = self._sources.find(node)
        except RefusedError:
            return None
        return self._keys.index(place) if place in self._keys else None

    def _named(self, node: Any) -> int | None:  # noqa: ANN401 - sqlglot's
        if argument(node, "table") is not None:
            return None
        name = matched(*name_of(node.this), [one.label for one in self._outputs])
        return next((one.at for one in self._outputs if one.label == name), None)

    def _having(self) -> Step | None:
        node = self._clause("having")
        if node is None:
            return None
        return After(lambda one: self._find(one, names_first=False), self._values).step(node)

    def _ordered(self) -> tuple[Order, ...]:
        order = argument(self._select, "order")
        if order is None:
            return ()
        only(order, "expressions")
        return tuple(self._by(node) for node in order.args["expressions"])

    def _by(self, node: Any) -> Order:  # noqa: ANN401 - sqlglot's
        only(node, "this", "desc", "nulls_first")
        what = bare(node.this)
        down, nulls = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        if kind_of(what) == "Literal":
            number = value_of(what, ()).value
            if not isinstance(number, int) or not 1 <= number <= len(self._outputs):
                raise RefusedError("ORDER BY takes numbers of columns that the query SELECTs.")
            at = self._outputs[number - 1].at
            return Order(lambda row: row[at], down, nulls)
        made = After(lambda one: self._find(one, names_first=True), self._values)
        return Order(made.step(what), down, nulls)

    def _number(self, name: str) -> int | None:
        clause = argument(self._select, name)
        if clause is None:
            return None
        if kind_of(clause) not in ("Limit", "Offset"):
            raise RefusedError("The number of rows must be told by LIMIT and OFFSET.")
        only(clause, "expression")
        found = value_of(bare(clause.args["expression"]), self._values).value
        if not isinstance(found, int) or found < 0:
            raise RefusedError(f"{name.upper()} takes a whole number of at least 0.")
        return found
