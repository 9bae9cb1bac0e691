"""Conditions on rows (WHERE), written for an engine from the tree of a query.

Each term has a kind and, for numbers, bounds on its magnitude. Arithmetic uses doubles and cannot
fail on any row: operands are clipped to +-1e30, and set to 0 within +-1e-30, so the magnitude of
results is known in advance. NaN is NULL everywhere, and division by 0 is NULL.

Every supported type of node has a method here; all other nodes are refused.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal

import numpy as np

from veil.core.errors import RefusedError
from veil.dp.sql.engine import Bindings, canonical
from veil.dp.sql.parsing import (
    Sources,
    argument,
    node_type,
    refusal,
    refuse_extras,
    strip_brackets,
)
from veil.dp.sql.schema import storable

TermKind = Literal["number", "text", "time", "truth", "null"]
_LARGE, _SMALL = 1e30, 1e-30  # magnitude of operands
_MOST, _LEAST = 1e290, 1e-290  # magnitude of results
_WHOLE = 2**63
_ULP = 2.0**-53


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a condition, as SQL of the engine.

    `whole` is True for 64-bit integers. The magnitude of a number that is not 0 is from `least` to
    `most`.
    """

    kind: TermKind
    sql: str
    whole: bool = False
    least: float = 0.0
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal or a bound value; its kind may depend on the terms it is compared with."""

    value: int | float | str | None


Part = Term | Constant


def constant(value: object) -> Constant:
    """Return a user's value as a constant, or raise RefusedError."""
    if value is None or isinstance(value, bool):
        return Constant(None if value is None else int(value))
    if isinstance(value, date | datetime):
        return Constant(canonical(value))
    native = value.item() if isinstance(value, np.generic) else value
    if isinstance(native, str):
        if not storable(native):
            raise RefusedError("Text in a query must be Unicode without NUL characters.")
        return Constant(str(native))
    if isinstance(native, bool) or not isinstance(native, int | float):
        raise RefusedError(
            "A value in a query must be a number, string, boolean, date or time. Got"
            f" {type(value).__name__} instead."
        )
    if isinstance(native, int):
        return Constant(native if -_WHOLE <= native < _WHOLE else _finite(native))
    return Constant(_finite(native))


def _finite(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RefusedError("A number in a query must be finite.")
    return number


class Terms:
    """Builds terms for one engine."""

    def __init__(self, bindings: Bindings) -> None:
        self.bindings, self.speech = bindings, bindings.speech

    def fixed(self, part: Part, kind: TermKind = "null") -> Term:
        """Return a part as a term; a string constant becomes a time if `kind` is "time"."""
        if isinstance(part, Term):
            return part
        value = part.value
        if value is None:
            return Term("null", "NULL")
        if isinstance(value, str):
            return self._text(value, kind)
        size = abs(float(value))
        if isinstance(value, int):
            sql = self.bindings.bind(value, "whole")
            return Term("number", sql, whole=True, least=size, most=size)
        return Term("number", self.bindings.bind(value, "number"), least=size, most=size)

    def _text(self, value: str, kind: TermKind) -> Term:
        if kind != "time":
            return Term("text", self.bindings.bind(value, "text"))
        time = canonical(value)
        if time is None:
            raise RefusedError(
                "A time in a query must be written as '2024-02-29' or '2024-02-29 13:05:00'."
            )
        return Term("time", self.bindings.bind(time, "text"))

    def alike(self, parts: Sequence[Part]) -> list[Term]:
        """Return parts as terms of one kind, or raise RefusedError if kinds differ."""
        kinds = [part.kind for part in parts if isinstance(part, Term) and part.kind != "null"]
        leading: TermKind = kinds[0] if kinds else "null"
        terms = [self.fixed(part, leading) for part in parts]
        if len({term.kind for term in terms} - {"null"}) > 1:
            raise RefusedError(
                "Only values of the same kind can be compared: numbers, text, or dates and times."
            )
        if all(term.whole or term.kind == "null" for term in terms):
            return terms
        return [self.double(term) for term in terms]

    def double(self, term: Term) -> Term:
        """Return a number as a double."""
        if not term.whole:
            return term
        return replace(term, sql=self.speech.double(term.sql), whole=False)

    def operand(self, part: Part) -> Term:
        """Return a number clipped for arithmetic."""
        term = self.double(self.number(part))
        if term.kind == "null" or term.most == 0:
            return Term("number", self.speech.double(term.sql), least=_SMALL, most=_LARGE)
        if isinstance(part, Constant) and not _SMALL <= term.most <= _LARGE:
            raise RefusedError(
                f"A number in arithmetic must be from {_SMALL:g} to {_LARGE:g} in magnitude."
            )
        if term.least > 0 and term.most < math.inf:
            return term
        x, bind = term.sql, self.bindings.bind
        large, small = bind(_LARGE, "number"), bind(_SMALL, "number")
        lower, under = bind(-_LARGE, "number"), bind(-_SMALL, "number")
        sql = (
            f"(CASE WHEN {x} > {large} THEN {large} WHEN {x} < {lower} THEN {lower}"
            f" WHEN {x} > {under} AND {x} < {small} THEN {bind(0.0, 'number')} ELSE {x} END)"
        )
        return Term("number", sql, least=_SMALL, most=_LARGE)

    def number(self, part: Part) -> Term:
        """Return a part as a number, or raise RefusedError."""
        return self._of(part, "number", "a number")

    def text(self, part: Part) -> Term:
        """Return a part as text, or raise RefusedError."""
        return self._of(part, "text", "text")

    def time(self, part: Part) -> Term:
        """Return a part as a date or time, or raise RefusedError."""
        return self._of(part, "time", "a date or time")

    def truth(self, part: Part) -> Term:
        """Return a part as a condition; numbers other than 0 are true."""
        term = self.fixed(part)
        if term.kind == "number":
            return Term("truth", f"({term.sql} <> {self.bindings.bind(0, 'whole')})")
        if term.kind == "null":
            zero = self.bindings.bind(0, "whole")
            return Term("truth", f"(NULLIF({zero}, {zero}) = {zero})")
        return self._of(term, "truth", "a condition")

    def _of(self, part: Part, kind: TermKind, what: str) -> Term:
        term = self.fixed(part, kind)
        if term.kind not in (kind, "null"):
            raise RefusedError(f"The query needs {what} where it has something else.")
        return term

    def arithmetic(self, sign: str, first: Part, second: Part) -> Term:
        """Add, subtract, multiply or divide."""
        a, b = self.operand(first), self.operand(second)
        least, most = _RANGES[sign](a, b)
        if least < _LEAST or most > _MOST:
            raise RefusedError("The arithmetic of the query is nested too deeply. Simplify it.")
        divisor = f"NULLIF({b.sql}, {self.bindings.bind(0.0, 'number')})"
        right = divisor if sign == "/" else b.sql
        return Term("number", f"({a.sql} {sign} {right})", least=least, most=most)


def choice_of(terms: Sequence[Term], sql: str) -> Term:
    """Return the term of an expression that chooses among terms of one kind."""
    kinds = [term for term in terms if term.kind != "null"]
    if not kinds:
        raise RefusedError("A query cannot choose among NULL values only.")
    return Term(
        kinds[0].kind,
        sql,
        whole=all(term.whole for term in kinds),
        least=min(term.least for term in kinds),
        most=max(term.most for term in kinds),
    )


_RANGES: dict[str, Callable[[Term, Term], tuple[float, float]]] = {
    "+": lambda a, b: (min(a.least, b.least) * _ULP, a.most + b.most),
    "-": lambda a, b: (min(a.least, b.least) * _ULP, a.most + b.most),
    "*": lambda a, b: (a.least * b.least, a.most * b.most),
    "/": lambda a, b: (a.least / b.most, a.most / b.least),
}


def value_of(node: Any, values: Sequence[object]) -> Constant:  # noqa: ANN401 - sqlglot's
    """Return the constant of a node."""
    kind = node_type(node)
    if kind == "Null":
        refuse_extras(node)
        return Constant(None)
    if kind == "Boolean":
        refuse_extras(node, "this")
        return Constant(int(bool(node.this)))
    if kind == "Placeholder":
        refuse_extras(node, "this")
        return constant(values[int(str(node.this).removeprefix("v"))])
    if kind != "Literal":
        raise refusal(node)
    refuse_extras(node, "this", "is_string")
    text = str(node.this)
    return constant(text if node.args.get("is_string") else _number(text))


def _number(text: str) -> int | float:
    try:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 400 else float(text)
    except ValueError:
        raise RefusedError("The query contains an invalid number.") from None


_DEPTH = 60
_WORDS = 100_000  # characters of a condition in the SQL of the engine
_VALUES = 1_000  # of an IN
_FEW = 64  # values bound one by one
_PATTERN, _WILD = 200, 10  # characters and % of a pattern
_COMPARED = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_CUT = {  # prefix of a time that stays, and what replaces the rest
    "YEAR": (4, "-01-01 00:00:00"), "MONTH": (7, "-01 00:00:00"), "DAY": (10, " 00:00:00"),
    "HOUR": (13, ":00:00"), "MINUTE": (16, ":00"),
}  # fmt: skip
_FIELDS = {"YEAR": (1, 4), "MONTH": (6, 2), "DAY": (9, 2), "HOUR": (12, 2), "MINUTE": (15, 2)}


class Conditions:
    """Writes the conditions of one query for one engine."""

    def __init__(self, sources: Sources, bindings: Bindings, values: Sequence[object]) -> None:
        self.sources, self.values = sources, values
        self.terms, self.speech = Terms(bindings), bindings.speech
        self.bindings = bindings
        self._depth = 0

    def condition(self, node: Any) -> str:  # noqa: ANN401 - sqlglot's
        """Return a condition as SQL of the engine."""
        return self.terms.truth(self.part(node)).sql

    def part(self, node: Any) -> Part:  # noqa: ANN401 - sqlglot's
        """Return a node as a term or a constant."""
        node = strip_brackets(node)
        write = _WRITERS.get(node_type(node))
        if write is None:
            raise refusal(node)
        self._depth += 1
        if self._depth > _DEPTH:
            raise RefusedError("The query is nested too deeply. Simplify it.")
        try:
            written = write(self, node)
        finally:
            self._depth -= 1
        if (
            isinstance(written, Term) and len(written.sql) > _WORDS
        ):  # checked for each part, because lengths multiply
            raise RefusedError("The condition of the query is too long. Simplify it.")
        return written

    def column(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Read a listed column."""
        place = self.sources.find(node)
        column = place.listed.column
        return Term(column.kind, self.speech.read(column, place.sql), whole=column.whole)

    def value(self, node: Any) -> Constant:  # noqa: ANN401 - sqlglot's
        """Return a literal or a bound value."""
        return value_of(node, self.values)

    def joined(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Join conditions by AND or OR; a long chain does not count as deep."""
        kind, parts = node_type(node), []
        while node_type(node) == kind:
            refuse_extras(node, "this", "expression")
            parts.append(node.expression)
            node = strip_brackets(node.this)
        word = " AND " if kind == "And" else " OR "
        tests = [self.terms.truth(self.part(item)).sql for item in (node, *reversed(parts))]
        return Term("truth", f"({word.join(tests)})")

    def negated(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Negate a condition."""
        refuse_extras(node, "this")
        return Term("truth", f"(NOT {self.terms.truth(self.part(node.this)).sql})")

    def compared(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Compare two values of one kind."""
        refuse_extras(node, "this", "expression")
        first, second = self.terms.alike([self.part(node.this), self.part(node.expression)])
        return Term("truth", f"({first.sql} {_COMPARED[node_type(node)]} {second.sql})")

    def between(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Compare a value with two bounds (BETWEEN)."""
        refuse_extras(node, "this", "low", "high")
        parts = [self.part(node.args[name]) for name in ("this", "low", "high")]
        x, low, high = self.terms.alike(parts)
        return Term("truth", f"({x.sql} BETWEEN {low.sql} AND {high.sql})")

    def among(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Test whether a value is in a list of constants (IN)."""
        refuse_extras(node, "this", "expressions")
        listed = [self.part(strip_brackets(value)) for value in node.args.get("expressions") or []]
        constants = [
            value for value in listed if isinstance(value, Constant) and value.value is not None
        ]
        if not constants or len(constants) < len(listed) or len(listed) > _VALUES:
            raise RefusedError(f"IN takes 1 to {_VALUES:,} constants, and no columns.")
        x, *terms = self.terms.alike([self.part(node.this), *constants])
        return Term("truth", f"({x.sql} IN ({', '.join(term.sql for term in terms)}))")

    def absent(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Test whether a value is NULL."""
        refuse_extras(node, "this", "expression")
        if node_type(strip_brackets(node.expression)) != "Null":
            raise RefusedError("IS works only with NULL.")
        return Term("truth", f"({self.terms.fixed(self.part(node.this)).sql} IS NULL)")

    def like(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Match text against a short constant pattern (LIKE)."""
        refuse_extras(node, "this", "expression", "negate")
        pattern = self.part(node.expression)
        if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
            raise RefusedError("LIKE takes a constant pattern, not a column.")
        if len(pattern.value) > _PATTERN or pattern.value.count("%") > _WILD:
            raise RefusedError(
                f"A LIKE pattern must have at most {_PATTERN} characters, and at most {_WILD} %."
            )
        text = self.terms.text(self.part(node.this)).sql
        sql = self.speech.like(text, self.terms.text(pattern).sql)
        return Term("truth", f"(NOT {sql})" if node.args.get("negate") else sql)

    def arithmetic(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Calculate with doubles."""
        refuse_extras(node, "this", "expression", "typed", "safe")
        return self.terms.arithmetic(
            _SIGNS[node_type(node)], self.part(node.this), self.part(node.expression)
        )

    def minus(self, node: Any) -> Part:  # noqa: ANN401 - sqlglot's
        """Negate a number."""
        refuse_extras(node, "this")
        part = self.part(node.this)
        if isinstance(part, Constant) and isinstance(part.value, int | float):
            return Constant(-part.value)
        return self.terms.arithmetic("-", Constant(0), part)

    def size(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take the absolute value of a number."""
        refuse_extras(node, "this")
        term = self.terms.operand(self.part(node.this))
        return Term("number", f"abs({term.sql})", least=term.least, most=term.most)

    def cased(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Change text to lower or upper case."""
        refuse_extras(node, "this")
        write = self.speech.lower if node_type(node) == "Lower" else self.speech.upper
        return Term("text", write(self.terms.text(self.part(node.this)).sql))

    def length(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Count the characters of text."""
        refuse_extras(node, "this")
        text = self.terms.text(self.part(node.this)).sql
        return Term("number", self.speech.length(text), least=1.0, most=1e10)

    def first(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take the first value that is not NULL (COALESCE)."""
        refuse_extras(node, "this", "expressions")
        nodes = [node.this, *(node.args.get("expressions") or [])]
        terms = self.terms.alike([self.part(item) for item in nodes])
        return choice_of(terms, f"COALESCE({', '.join(term.sql for term in terms)})")

    def unless(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take a value unless it equals another one (NULLIF)."""
        refuse_extras(node, "this", "expression")
        terms = self.terms.alike([self.part(node.this), self.part(node.expression)])
        return choice_of(terms[:1], f"NULLIF({terms[0].sql}, {terms[1].sql})")

    def case(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Choose by conditions, or by a value (CASE)."""
        refuse_extras(node, "this", "ifs", "default")
        subject = None if node.args.get("this") is None else self.part(node.this)
        tests, values = [], []
        for branch in node.args["ifs"]:
            refuse_extras(branch, "this", "true")
            tests.append(self._test(subject, self.part(branch.this)))
            values.append(self.part(branch.args["true"]))
        default = node.args.get("default")
        values.append(Constant(None) if default is None else self.part(default))
        terms = self.terms.alike(values)
        branches = [
            f"WHEN {test} THEN {term.sql}" for test, term in zip(tests, terms, strict=False)
        ]
        return choice_of(terms, f"(CASE {' '.join(branches)} ELSE {terms[-1].sql} END)")

    def _test(self, subject: Part | None, part: Part) -> str:
        if subject is None:
            return self.terms.truth(part).sql
        first, second = self.terms.alike([subject, part])
        return f"({first.sql} = {second.sql})"

    def cast(self, node: Any) -> Part:  # noqa: ANN401 - sqlglot's
        """Convert text to a number, or a literal to a date or time; failures give NULL."""
        refuse_extras(node, "this", "to", "safe")
        target = node.args["to"]
        refuse_extras(target, "this", "nested")
        kind, part = str(getattr(target.this, "name", "")), self.part(node.this)
        if kind in ("DATE", "TIMESTAMP", "DATETIME") and isinstance(part, Constant):
            time = canonical(part.value)
            if time is not None:
                return self.terms.fixed(Constant(time), "time")
        if kind not in ("DOUBLE", "FLOAT"):
            raise RefusedError("CAST works only to DOUBLE, or for a literal to DATE.")
        term = self.terms.fixed(part)
        if term.kind != "text":
            return self.terms.double(self.terms.number(term))
        return Term("number", self.speech.parsed(term.sql), least=1e-16, most=1e16)

    def cut(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Truncate a time to its year, month, day, hour or minute (DATE_TRUNC)."""
        refuse_extras(node, "unit", "this", "input_type_preserved")
        length, rest = _time_unit(_CUT, argument(node, "unit"))
        time = self.terms.time(self.part(node.this)).sql
        return Term("time", f"(substr({time}, 1, {length}) || {self.bindings.bind(rest, 'text')})")

    def field(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Extract the year, month, day, hour or minute of a time as a number."""
        refuse_extras(node, "this", "expression")
        start, length = _time_unit(_FIELDS, node.this)
        time = self.terms.time(self.part(node.expression)).sql
        return Term("number", self.speech.double(f"substr({time}, {start}, {length})"),
                    least=1.0, most=1e4)  # fmt: skip


def _time_unit(units: Mapping[str, tuple[int, Any]], node: Any) -> tuple[int, Any]:  # noqa: ANN401
    """Return the entry of a unit of time, or raise RefusedError."""
    if node_type(node) not in ("Var", "Literal") or str(node.this).upper() not in units:
        raise RefusedError(f"The unit of a time must be one of {', '.join(units)}.")
    return units[str(node.this).upper()]


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
