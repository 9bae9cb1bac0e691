"""The condition after WHERE, written for an engine from the tree of a query.

Every type of node that is known has a function here; all others are refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from veil.core.errors import RefusedError
from veil.dp.database.bindings import Bindings
from veil.dp.database.literals import value_of
from veil.dp.database.names import Sources
from veil.dp.database.terms import Constant, Part, Term, Terms, chosen
from veil.dp.database.times import canonical
from veil.dp.database.whitelist import argument, bare, kind_of, only, refused

_DEPTH = 60
_WORDS = 100_000  # characters of a condition as the engine is told
_VALUES = 1_000  # of an IN
_FEW = 64  # values that have a mark each
_PATTERN, _WILD = 200, 10  # characters and % of a pattern
_COMPARED = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_CUT = {  # what is kept of a time, and what follows it
    "YEAR": (4, "-01-01 00:00:00"), "MONTH": (7, "-01 00:00:00"), "DAY": (10, " 00:00:00"),
    "HOUR": (13, ":00:00"), "MINUTE": (16, ":00"),
}  # fmt: skip
_FIELDS = {"YEAR": (1, 4), "MONTH": (6, 2), "DAY": (9, 2), "HOUR": (12, 2), "MINUTE": (15, 2)}


class Conditions:
    """Writes conditions of one query for one engine."""

    def __init__(self, sources: Sources, bindings: Bindings, values: Sequence[object]) -> None:
        self.sources, self.values = sources, values
        self.terms, self.speech = Terms(bindings), bindings.speech
        self.bindings = bindings
        self._depth = 0

    def condition(self, node: Any) -> str:  # noqa: ANN401 - sqlglot's
        """Return a condition as the engine says it."""
        return self.terms.truth(self.part(node)).sql

    def part(self, node: Any) -> Part:  # noqa: ANN401 - sqlglot's
        """Return a node as a term or a constant."""
        node = bare(node)
        write = _WRITERS.get(kind_of(node))
        if write is None:
            raise refused(node)
        self._depth += 1
        if self._depth > _DEPTH:
            raise RefusedError("The query is nested too deeply; write it in a simpler way.")
        try:
            made = write(self, node)
        finally:
            self._depth -= 1
        if isinstance(made, Term) and len(made.sql) > _WORDS:  # each part: they multiply
            raise RefusedError("The condition of the query is too long; write a simpler one.")
        return made

    def column(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Read a listed column."""
        place = self.sources.find(node)
        column = place.listed.column
        return Term(column.kind, self.speech.read(column, place.sql), whole=column.whole)

    def value(self, node: Any) -> Constant:  # noqa: ANN401 - sqlglot's
        """Return a literal or a bound value."""
        return value_of(node, self.values)

    def joined(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Join conditions; a long chain is no deep one."""
        kind, parts = kind_of(node), []
        while kind_of(node) == kind:
            only(node, "this", "expression")
            parts.append(node.expression)
            node = bare(node.this)
        word = " AND " if kind == "And" else " OR "
        found = [self.terms.truth(self.part(one)).sql for one in (node, *reversed(parts))]
        return Term("truth", f"({word.join(found)})")

    def negated(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Turn a condition around."""
        only(node, "this")
        return Term("truth", f"(NOT {self.terms.truth(self.part(node.this)).sql})")

    def compared(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Compare two values of one kind."""
        only(node, "this", "expression")
        one, other = self.terms.alike([self.part(node.this), self.part(node.expression)])
        return Term("truth", f"({one.sql} {_COMPARED[kind_of(node)]} {other.sql})")

    def between(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Compare a value with two ends."""
        only(node, "this", "low", "high")
        parts = [self.part(node.args[name]) for name in ("this", "low", "high")]
        x, low, high = self.terms.alike(parts)
        return Term("truth", f"({x.sql} BETWEEN {low.sql} AND {high.sql})")

    def among(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Look a value up in a list of constants."""
        only(node, "this", "expressions")
        listed = [self.part(bare(one)) for one in node.args.get("expressions") or []]
        constants = [one for one in listed if isinstance(one, Constant) and one.value is not None]
        if not constants or len(constants) < len(listed) or len(listed) > _VALUES:
            raise RefusedError(f"A query takes 1 to {_VALUES:,} values after IN, and no columns.")
        x, *terms = self.terms.alike([self.part(node.this), *constants])
        return Term("truth", f"({x.sql} IN ({', '.join(term.sql for term in terms)}))")

    def absent(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Tell whether a value is NULL."""
        only(node, "this", "expression")
        if kind_of(bare(node.expression)) != "Null":
            raise RefusedError("A query compares by IS with NULL alone.")
        return Term("truth", f"({self.terms.fixed(self.part(node.this)).sql} IS NULL)")

    def like(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Compare a text with a pattern that is a constant, and short."""
        only(node, "this", "expression", "negate")
        pattern = self.part(node.expression)
        if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
            raise RefusedError("A pattern after LIKE must be a text, and not a column.")
        if len(pattern.value) > _PATTERN or pattern.value.count("%") > _WILD:
            raise RefusedError(
                f"A pattern after LIKE must have at most {_PATTERN} characters, {_WILD} of them %."
            )
        text = self.terms.text(self.part(node.this)).sql
        sql = self.speech.like(text, self.terms.text(pattern).sql)
        return Term("truth", f"(NOT {sql})" if node.args.get("negate") else sql)

    def arithmetic(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Calculate with doubles."""
        only(node, "this", "expression", "typed", "safe")
        return self.terms.arithmetic(
            _SIGNS[kind_of(node)], self.part(node.this), self.part(node.expression)
        )

    def minus(self, node: Any) -> Part:  # noqa: ANN401 - sqlglot's
        """Turn the sign of a number around."""
        only(node, "this")
        part = self.part(node.this)
        if isinstance(part, Constant) and isinstance(part.value, int | float):
            return Constant(-part.value)
        return self.terms.arithmetic("-", Constant(0), part)

    def size(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take the size of a number."""
        only(node, "this")
        term = self.terms.operand(self.part(node.this))
        return Term("number", f"abs({term.sql})", least=term.least, most=term.most)

    def cased(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Make the letters of a text small or large."""
        only(node, "this")
        write = self.speech.lower if kind_of(node) == "Lower" else self.speech.upper
        return Term("text", write(self.terms.text(self.part(node.this)).sql))

    def length(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Count the characters of a text."""
        only(node, "this")
        text = self.terms.text(self.part(node.this)).sql
        return Term("number", self.speech.length(text), least=1.0, most=1e10)

    def first(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take the first value that is not NULL."""
        only(node, "this", "expressions")
        nodes = [node.this, *(node.args.get("expressions") or [])]
        terms = self.terms.alike([self.part(one) for one in nodes])
        return chosen(terms, f"COALESCE({', '.join(term.sql for term in terms)})")

    def unless(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take a value unless it is another one."""
        only(node, "this", "expression")
        terms = self.terms.alike([self.part(node.this), self.part(node.expression)])
        return chosen(terms[:1], f"NULLIF({terms[0].sql}, {terms[1].sql})")

    def case(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Choose by conditions, or by what a value is."""
        only(node, "this", "ifs", "default")
        subject = None if node.args.get("this") is None else self.part(node.this)
        tests, values = [], []
        for branch in node.args["ifs"]:
            only(branch, "this", "true")
            tests.append(self._test(subject, self.part(branch.this)))
            values.append(self.part(branch.args["true"]))
        default = node.args.get("default")
        values.append(Constant(None) if default is None else self.part(default))
        terms = self.terms.alike(values)
        branches = [
            f"WHEN {test} THEN {term.sql}" for test, term in zip(tests, terms, strict=False)
        ]
        return chosen(terms, f"(CASE {' '.join(branches)} ELSE {terms[-1].sql} END)")

    def _test(self, subject: Part | None, part: Part) -> str:
        if subject is None:
            return self.terms.truth(part).sql
        one, other = self.terms.alike([subject, part])
        return f"({one.sql} = {other.sql})"

    def cast(self, node: Any) -> Part:  # noqa: ANN401 - sqlglot's
        """Read a text as a number, or a literal as a day or a time; none is NULL in any case."""
        only(node, "this", "to", "safe")
        wanted = node.args["to"]
        only(wanted, "this", "nested")
        kind, part = str(getattr(wanted.this, "name", "")), self.part(node.this)
        if kind in ("DATE", "TIMESTAMP", "DATETIME") and isinstance(part, Constant):
            time = canonical(part.value)
            if time is not None:
                return self.terms.fixed(Constant(time), "time")
        if kind not in ("DOUBLE", "FLOAT"):
            raise RefusedError("A query can CAST to DOUBLE alone, and a literal to DATE.")
        term = self.terms.fixed(part)
        if term.kind != "text":
            return self.terms.double(self.terms.number(term))
        return Term("number", self.speech.parsed(term.sql), least=1e-16, most=1e16)

    def cut(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Cut a time to its year, month, day, hour or minute."""
        only(node, "unit", "this", "input_type_preserved")
        length, rest = _found(_CUT, argument(node, "unit"))
        time = self.terms.time(self.part(node.this)).sql
        return Term("time", f"(substr({time}, 1, {length}) || {self.bindings.bind(rest, 'text')})")

    def field(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take the year, month, day, hour or minute of a time as a number."""
        only(node, "this", "expression")
        start, length = _found(_FIELDS, node.this)
        time = self.terms.time(self.part(node.expression)).sql
        return Term("number", self.speech.double(f"substr({time}, {start}, {length})"),
                    least=1.0, most=1e4)  # fmt: skip


def _found(known: Mapping[str, tuple[int, Any]], node: Any) -> tuple[int, Any]:  # noqa: ANN401
    """Find a unit of time."""
    if kind_of(node) not in ("Var", "Literal") or str(node.this).upper() not in known:
        raise RefusedError(f"Times are cut and taken apart by {', '.join(known)} alone.")
    return known[str(node.this).upper()]


_WRITERS: dict[str, Callable[[Conditions, Any], Part]] = {
    "Abs": Conditions.size, "And": Conditions.joined, "Between": Conditions.between,
    "Boolean": Conditions.value, "Case": Conditions.case, "Cast": Conditions.cast,
    "Coalesce": Conditions.first, "Column": Conditions.column, "DateTrunc": Conditions.cut,
    "Extract": Conditions.field, "In": Conditions.among, "Is": Conditions.absent,
    "Length": Conditions.length, "Like": Conditions.like, "Literal": Conditions.value,
    "Lower": Conditions.cased, "Neg": Conditions.minus, "Not": Conditions.negated,
    "Null": Conditions.value, "Nullif": Conditions.unless, "Or": Conditions.joined,
    "Placeholder": Conditions.value, "TimestampTrunc": Conditions.cut,
    "TryCast": Conditions.cast, "Upper": Conditions.cased,
    **dict.fromkeys(_COMPARED, Conditions.compared),
    **dict.fromkeys(_SIGNS, Conditions.arithmetic),
}  # fmt: skip
