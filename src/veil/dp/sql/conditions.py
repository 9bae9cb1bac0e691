"""Conditions on rows: their terms, and how they are written for an engine.

Parts of a condition on rows, each with its kind and, for numbers, how large it can be.
Arithmetic is that of doubles and cannot fail on any row: a number that enters it is moved into
+-1e30, and to 0 within +-1e-30, and how far results can be from there is known beforehand. NaN is
NULL everywhere, and a division by 0 is NULL.

The condition after WHERE, written for an engine from the tree of a query.
Every type of node that is known has a function here; all others are refused.
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
_LARGE, _SMALL = 1e30, 1e-30  # of a number that enters arithmetic
_MOST, _LEAST = 1e290, 1e-290  # of what comes of it
_WHOLE = 2**63
_ULP = 2.0**-53


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a condition, as the engine says it.

    `whole` is for whole numbers of 64 bits. The size of a number that is not 0 is from `least` to
    `most`.
    """

    kind: TermKind
    sql: str
    whole: bool = False
    least: float = 0.0
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal or a bound value, which becomes a term beside others."""

    value: int | float | str | None


Part = Term | Constant


def constant(value: object) -> Constant:
    """Return a value that a user gave as a constant, or refuse it."""
    if value is None or isinstance(value, bool):
        return Constant(None if value is None else int(value))
    if isinstance(value, date | datetime):
        return Constant(canonical(value))
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        if not storable(plain):
            raise RefusedError("A text in a query must be Unicode, without the character NUL.")
        return Constant(str(plain))
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise RefusedError(
            "A value in a query must be a number, a text, a truth value, a day or a time; got"
            f" one of type {type(value).__name__}."
        )
    if isinstance(plain, int):
        return Constant(plain if -_WHOLE <= plain < _WHOLE else _finite(plain))
    return Constant(_finite(plain))


def _finite(value: float) -> float:
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise RefusedError("A number in a query must be finite.")
    return found


class Terms:
    """Makes terms of terms, for one engine."""

    def __init__(self, bindings: Bindings) -> None:
        self.bindings, self.speech = bindings, bindings.speech

    def fixed(self, part: Part, kind: TermKind = "null") -> Term:
        """Return a constant as a term of a kind, or of its own if none is told."""
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
        """Return parts as terms of one kind, that can be compared and chosen from."""
        kinds = [part.kind for part in parts if isinstance(part, Term) and part.kind != "null"]
        leading: TermKind = kinds[0] if kinds else "null"
        found = [self.fixed(part, leading) for part in parts]
        if len({term.kind for term in found} - {"null"}) > 1:
            raise RefusedError(
                "Only values of one kind can be compared with each other: numbers, texts, or days"
                " and times."
            )
        if all(term.whole or term.kind == "null" for term in found):
            return found
        return [self.double(term) for term in found]

    def double(self, term: Term) -> Term:
        """Return a number as a double."""
        if not term.whole:
            return term
        return replace(term, sql=self.speech.double(term.sql), whole=False)

    def operand(self, part: Part) -> Term:
        """Return a number that can enter arithmetic."""
        term = self.double(self.number(part))
        if term.kind == "null" or term.most == 0:
            return Term("number", self.speech.double(term.sql), least=_SMALL, most=_LARGE)
        if isinstance(part, Constant) and not _SMALL <= term.most <= _LARGE:
            raise RefusedError(
                f"A number in the arithmetic of a query must be within {_SMALL:g} and {_LARGE:g}."
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
        """Return a part that must be a number."""
        return self._of(part, "number", "a number")

    def text(self, part: Part) -> Term:
        """Return a part that must be a text."""
        return self._of(part, "text", "a text")

    def time(self, part: Part) -> Term:
        """Return a part that must be a day or a time."""
        return self._of(part, "time", "a day or a time")

    def truth(self, part: Part) -> Term:
        """Return a part that must be true or false; a number is true if it is not 0."""
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
            raise RefusedError(f"The query has something else where {what} must be.")
        return term

    def arithmetic(self, sign: str, one: Part, other: Part) -> Term:
        """Add, subtract, multiply or divide."""
        a, b = self.operand(one), self.operand(other)
        least, most = _RANGES[sign](a, b)
        if least < _LEAST or most > _MOST:
            raise RefusedError("The arithmetic of the query is nested too deeply; simplify it.")
        divisor = f"NULLIF({b.sql}, {self.bindings.bind(0.0, 'number')})"
        right = divisor if sign == "/" else b.sql
        return Term("number", f"({a.sql} {sign} {right})", least=least, most=most)


def choice_of(terms: Sequence[Term], sql: str) -> Term:
    """Return a choice among terms of one kind."""
    kinds = [term for term in terms if term.kind != "null"]
    if not kinds:
        raise RefusedError("The query chooses among nothing but NULL.")
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
    """Return the constant that a node is."""
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
        raise RefusedError("A number in the query is not understood.") from None


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
        node = strip_brackets(node)
        write = _WRITERS.get(node_type(node))
        if write is None:
            raise refusal(node)
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
        kind, parts = node_type(node), []
        while node_type(node) == kind:
            refuse_extras(node, "this", "expression")
            parts.append(node.expression)
            node = strip_brackets(node.this)
        word = " AND " if kind == "And" else " OR "
        found = [self.terms.truth(self.part(one)).sql for one in (node, *reversed(parts))]
        return Term("truth", f"({word.join(found)})")

    def negated(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Turn a condition around."""
        refuse_extras(node, "this")
        return Term("truth", f"(NOT {self.terms.truth(self.part(node.this)).sql})")

    def compared(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Compare two values of one kind."""
        refuse_extras(node, "this", "expression")
        one, other = self.terms.alike([self.part(node.this), self.part(node.expression)])
        return Term("truth", f"({one.sql} {_COMPARED[node_type(node)]} {other.sql})")

    def between(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Compare a value with two ends."""
        refuse_extras(node, "this", "low", "high")
        parts = [self.part(node.args[name]) for name in ("this", "low", "high")]
        x, low, high = self.terms.alike(parts)
        return Term("truth", f"({x.sql} BETWEEN {low.sql} AND {high.sql})")

    def among(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Look a value up in a list of constants."""
        refuse_extras(node, "this", "expressions")
        listed = [self.part(strip_brackets(one)) for one in node.args.get("expressions") or []]
        constants = [one for one in listed if isinstance(one, Constant) and one.value is not None]
        if not constants or len(constants) < len(listed) or len(listed) > _VALUES:
            raise RefusedError(f"A query takes 1 to {_VALUES:,} values after IN, and no columns.")
        x, *terms = self.terms.alike([self.part(node.this), *constants])
        return Term("truth", f"({x.sql} IN ({', '.join(term.sql for term in terms)}))")

    def absent(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Tell whether a value is NULL."""
        refuse_extras(node, "this", "expression")
        if node_type(strip_brackets(node.expression)) != "Null":
            raise RefusedError("A query compares by IS with NULL alone.")
        return Term("truth", f"({self.terms.fixed(self.part(node.this)).sql} IS NULL)")

    def like(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Compare a text with a pattern that is a constant, and short."""
        refuse_extras(node, "this", "expression", "negate")
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
        refuse_extras(node, "this", "expression", "typed", "safe")
        return self.terms.arithmetic(
            _SIGNS[node_type(node)], self.part(node.this), self.part(node.expression)
        )

    def minus(self, node: Any) -> Part:  # noqa: ANN401 - sqlglot's
        """Turn the sign of a number around."""
        refuse_extras(node, "this")
        part = self.part(node.this)
        if isinstance(part, Constant) and isinstance(part.value, int | float):
            return Constant(-part.value)
        return self.terms.arithmetic("-", Constant(0), part)

    def size(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take the size of a number."""
        refuse_extras(node, "this")
        term = self.terms.operand(self.part(node.this))
        return Term("number", f"abs({term.sql})", least=term.least, most=term.most)

    def cased(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Make the letters of a text small or large."""
        refuse_extras(node, "this")
        write = self.speech.lower if node_type(node) == "Lower" else self.speech.upper
        return Term("text", write(self.terms.text(self.part(node.this)).sql))

    def length(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Count the characters of a text."""
        refuse_extras(node, "this")
        text = self.terms.text(self.part(node.this)).sql
        return Term("number", self.speech.length(text), least=1.0, most=1e10)

    def first(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take the first value that is not NULL."""
        refuse_extras(node, "this", "expressions")
        nodes = [node.this, *(node.args.get("expressions") or [])]
        terms = self.terms.alike([self.part(one) for one in nodes])
        return choice_of(terms, f"COALESCE({', '.join(term.sql for term in terms)})")

    def unless(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take a value unless it is another one."""
        refuse_extras(node, "this", "expression")
        terms = self.terms.alike([self.part(node.this), self.part(node.expression)])
        return choice_of(terms[:1], f"NULLIF({terms[0].sql}, {terms[1].sql})")

    def case(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Choose by conditions, or by what a value is."""
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
        one, other = self.terms.alike([subject, part])
        return f"({one.sql} = {other.sql})"

    def cast(self, node: Any) -> Part:  # noqa: ANN401 - sqlglot's
        """Read a text as a number, or a literal as a day or a time; none is NULL in any case."""
        refuse_extras(node, "this", "to", "safe")
        wanted = node.args["to"]
        refuse_extras(wanted, "this", "nested")
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
        refuse_extras(node, "unit", "this", "input_type_preserved")
        length, rest = _found(_CUT, argument(node, "unit"))
        time = self.terms.time(self.part(node.this)).sql
        return Term("time", f"(substr({time}, 1, {length}) || {self.bindings.bind(rest, 'text')})")

    def field(self, node: Any) -> Term:  # noqa: ANN401 - sqlglot's
        """Take the year, month, day, hour or minute of a time as a number."""
        refuse_extras(node, "this", "expression")
        start, length = _found(_FIELDS, node.this)
        time = self.terms.time(self.part(node.expression)).sql
        return Term("number", self.speech.double(f"substr({time}, {start}, {length})"),
                    least=1.0, most=1e4)  # fmt: skip


def _found(known: Mapping[str, tuple[int, Any]], node: Any) -> tuple[int, Any]:  # noqa: ANN401
    """Find a unit of time."""
    if node_type(node) not in ("Var", "Literal") or str(node.this).upper() not in known:
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
