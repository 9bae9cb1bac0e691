"""Hierarchies that follow from the values themselves: intervals, prefixes, dates."""

import math
import re

from veil.core.errors import InputError, ParameterError
from veil.core.registry import read_spec
from veil.tables.column import Column, written
from veil.tables.hierarchy import TOP, Builder, Rows

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


def intervals(width: float = 10, steps: int = 3, origin: float = 0) -> Builder:
    """Put numbers into intervals whose width doubles at each of `steps` levels, then the top.

    >>> intervals(width=5, steps=2)(Column.of([3, 7, 12]))
    [['3', '[0-4]', '[0-9]', '*'], ['7', '[5-9]', '[0-9]', '*'], ['12', '[10-14]', '[10-19]', '*']]
    """
    if not (width > 0 and math.isfinite(width)) or steps < 1:
        raise ParameterError("Intervals need a width > 0 and at least one step.")

    def rows(column: Column) -> Rows:
        if not column.numeric:
            raise InputError("Intervals are for columns of numbers.")
        whole = bool((column.numbers == column.numbers.round()).all()) and width == int(width)
        return [
            [
                label,
                *(
                    interval(float(number), width * 2**step, origin, whole=whole)
                    for step in range(steps)
                ),
                TOP,
            ]
            for label, number in zip(column.categories, column.numbers, strict=True)
        ]

    return rows


def interval(number: float, width: float, origin: float = 0, *, whole: bool) -> str:
    """Return the interval of a number: closed for whole numbers, closed-open for reals."""
    low = origin + width * math.floor((number - origin) / width)
    high = low + width - (1 if whole else 0)
    return f"[{written(low)}-{written(high)}]"


def prefix() -> Builder:
    """Cut codes from the right, one sign a level: 12345, 1234*, 123**, ... then the top."""

    def rows(column: Column) -> Rows:
        wide = max(map(len, column.categories), default=0)
        padded = [(label, label.ljust(wide, "*")) for label in column.categories]
        return [
            [label, *(full[: wide - cut] + "*" * cut for cut in range(1, wide)), TOP]
            for label, full in padded
        ]

    return rows


def dates() -> Builder:
    """Take days to months, years and decades: 1987-03-21, 1987-03, 1987, 1980-1989, the top."""

    def rows(column: Column) -> Rows:
        made = []
        for label in column.categories:
            found = _DATE.match(label)
            if found is None:
                raise InputError("Dates must be written as YYYY-MM-DD.")
            year, month, _ = found.groups()
            decade = int(year) // 10 * 10
            made.append([label, f"{year}-{month}", year, f"{decade}-{decade + 9}", TOP])
        return made

    return rows


def builder(spec: str) -> Builder | None:
    """Return the builder that a spec names, as ``intervals(width=10)``, or None."""
    makers = {"intervals": intervals, "prefix": prefix, "dates": dates}
    if "(" not in spec or spec.partition("(")[0].strip() not in makers:
        return None
    name, parameters = read_spec(spec)
    try:
        return makers[name](**parameters)
    except TypeError:
        raise ParameterError(f"The builder {name} has no such parameter.") from None
