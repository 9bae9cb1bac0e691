"""Presets of mechanisms, for a slider or a sweep."""

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
        raise InputError(f"The mechanism {name} has no presets. Try a spec with parameters.")
    return list(presets(table))


def unfit(name: str, table: Table) -> str:
    """Return why the presets of a mechanism cannot be used on a table, or ""."""
    try:
        MECHANISMS.parse(strengths(name, table)[0]).chosen(table, None)
    except InputError as error:
        return str(error)
    except IndexError:
        return "The table has too few rows."
    return ""


def ladder(table: Table) -> list[dict[str, object]]:
    """Return the study grids of the mechanisms that fit a table.

    >>> from veil.tables.schema import load
    >>> ages = load({"age": list(range(40))}, qi=["age"])
    >>> [grid["spec"] for grid in ladder(ages)]
    ['mdav', 'mondrian', 'noise', 'rank_swap']
    """
    if len(table) < 2 * min(GROUPS):
        raise InputError("The table has too few rows to choose a mechanism.")
    grids = []
    for cls in map(MECHANISMS.get, MECHANISMS.names()):
        grid = vars(cls).get("grid")  # not inherited: it names its mechanism
        if grid is not None and cls.fits(table):
            spec, parameter, values, groups = grid
            room = [float(value) for value in values if not groups or 2 * value <= len(table)]
            grids.append({"spec": spec, "parameter": parameter, "values": room})
    return grids
