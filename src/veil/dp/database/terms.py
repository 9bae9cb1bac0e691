"""Parts of a condition on rows, each with its kind and, for numbers, how large it can be.

Arithmetic is that of doubles and cannot fail on any row: a number that enters it is moved into
+-1e30, and to 0 within +-1e-30, and how far results can be from there is known beforehand. NaN is
NULL everywhere, and a division by 0 is NULL.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal

import numpy as np

from veil.core.errors import RefusedError
from veil.dp.database.bindings import Bindings
from veil.dp.database.schema import storable
from veil.dp.database.times import canonical

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


def chosen(terms: Sequence[Term], sql: str) -> Term:
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
