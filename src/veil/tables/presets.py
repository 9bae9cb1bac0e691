"""Methods at several strengths, for a slider or a sweep."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from veil.core.errors import InputError
from veil.tables.mechanisms import mechanism as named
from veil.tables.table import Table

GROUPS = (2, 3, 5, 10, 20, 50, 100)
_SCALES = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
_PERCENT = (1, 2, 5, 10, 20, 50, 100)
_RATES = (0.9, 0.75, 0.5, 0.25, 0.1, 0.05)
_FEW = 4  # groups that a table must have room for
_BASES = 7  # at most


def _groups(table: Table) -> list[int]:
    room = [k for k in GROUPS if k * _FEW <= len(table)]
    return room or [2]


def _bases(table: Table) -> list[float]:
    """Return round numbers from a fifth of the narrowest column's spread to twice the widest's."""
    spreads = [
        float(np.nanstd(column.values))
        for column in map(table.column, table.qi)
        if column.numeric and not column.missing.all()
    ]
    found = [spread for spread in spreads if 0 < spread < math.inf]
    if not found:
        return [1.0]
    first, last = math.log10(min(found) / 5), math.log10(2 * max(found))
    steps = np.linspace(first, last, _BASES)
    return sorted({round_number(10.0**step) for step in steps.tolist()})


STRENGTHS: Mapping[str, Callable[[Table], Sequence[str]]] = {
    "mondrian": lambda table: [f"mondrian(k={k})" for k in _groups(table)],
    "ola": lambda table: [f"ola(k={k}, suppression=0.05)" for k in _groups(table)],
    "suppress": lambda table: [f"suppress(k={k})" for k in _groups(table) if k <= 10],
    "mdav": lambda table: [f"mdav(k={k})" for k in _groups(table)],
    "noise": lambda _: [f"noise(scale={scale:g})" for scale in _SCALES],
    "rank_swap": lambda _: [f"rank_swap(p={p})" for p in _PERCENT],
    "rounding": lambda table: [f"rounding(base={base:g})" for base in _bases(table)],
    "sample": lambda table: [
        f"sample(rate={rate:g})" for rate in _RATES if round(rate * len(table)) > 1
    ],
}


def strengths(method: str, table: Table) -> list[str]:
    """Return the specs of a method for a table, each protecting more than the last.

    >>> from veil.tables.schema import load
    >>> strengths("mdav", load({"age": range(20)}, qi=["age"]))
    ['mdav(k=2)', 'mdav(k=3)', 'mdav(k=5)']
    """
    return list(STRENGTHS[method](table))


def unfit(method: str, table: Table) -> str:
    """Say why a method has nothing to do in a table, or nothing."""
    try:
        named(strengths(method, table)[0]).chosen(table, None)
    except InputError as error:
        return str(error)
    except IndexError:
        return "The table has too few rows."
    return ""


def round_number(value: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the nearest by ratio.

    >>> round_number(0.17), round_number(43.0), round_number(8.0)
    (0.2, 50.0, 10.0)
    """
    power = math.floor(math.log10(value))
    share = value / 10.0**power
    step = min((1, 2, 5, 10), key=lambda one: abs(math.log(share / one)))
    return float(f"{step}e{power}")


_GROUPS = (2, 3, 5, 10, 20, 50, 100)


def ladder(table: Table) -> list[dict[str, object]]:
    """Return the grids of a study with methods that apply to a table.

    >>> from veil.tables.schema import load
    >>> ages = load({"age": list(range(40))}, qi=["age"])
    >>> [grid["spec"] for grid in ladder(ages)]
    ['mondrian', 'mdav', 'rank_swap', 'noise']
    """
    names = table.require_qi()
    groups = [k for k in _GROUPS if 2 * k <= len(table)]
    if not groups:
        raise InputError("The table has too few rows to choose a method for it.")
    numeric = [table.column(name).numeric for name in names]
    whole = not any(bool(table.column(name).missing.any()) for name in names)
    grids = [_grid("mondrian", "k", groups)]
    if all(name in table.hierarchies for name in names):
        grids.append(_grid("ola(suppression=0.05)", "k", groups))
    if all(numeric) and whole:
        grids.append(_grid("mdav", "k", groups))
    if all(numeric):
        grids.append(_grid("rank_swap", "p", [2, 5, 10, 20, 40]))
        grids.append(_grid("noise", "scale", [0.1, 0.2, 0.5, 1.0]))
    if not any(numeric):
        grids.append(_grid("pram", "p", [0.5, 0.7, 0.8, 0.9, 0.95]))
    return grids


def _grid(spec: str, parameter: str, values: list[int] | list[float]) -> dict[str, object]:
    return {"spec": spec, "parameter": parameter, "values": [float(value) for value in values]}
