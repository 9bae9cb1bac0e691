"""Mechanisms at several strengths, for a slider or a sweep."""

from veil.core.errors import InputError
from veil.tables.mechanism import GROUPS
from veil.tables.mechanisms import MECHANISMS
from veil.tables.table import Table


def strengths(name: str, table: Table) -> list[str]:
    """Return the presets of a mechanism for a table, each protecting more than the last.

    >>> from veil.tables.schema import load
    >>> strengths("mdav", load({"age": range(20)}, qi=["age"]))
    ['mdav(k=2)', 'mdav(k=3)', 'mdav(k=5)']
    """
    presets = MECHANISMS.get(name).presets
    if presets is None:
        raise InputError(f"The mechanism {name} has no presets; name it with its parameters.")
    return list(presets(table))


def unfit(name: str, table: Table) -> str:
    """Say why the presets of a mechanism cannot be used on a table, or nothing."""
    try:
        MECHANISMS.parse(strengths(name, table)[0]).chosen(table, None)
    except InputError as error:
        return str(error)
    except IndexError:
        return "The table has too few rows."
    return ""


def ladder(table: Table) -> list[dict[str, object]]:
    """Return the grids of a study with methods that apply to a table.

    >>> from veil.tables.schema import load
    >>> ages = load({"age": list(range(40))}, qi=["age"])
    >>> [grid["spec"] for grid in ladder(ages)]
    ['mondrian', 'mdav', 'rank_swap', 'noise']
    """
    names = table.require_qi()
    groups = [k for k in GROUPS if 2 * k <= len(table)]
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
