"""Which categories a column has: declared, or read off the data."""

from collections.abc import Mapping

from veil.core.errors import InputError, ParameterError
from veil.tables.table import Table, unknown_column


def declared(table: Table, name: str, domain: str = "") -> tuple[tuple[str, ...], bool]:
    """Return the categories of a column, and whether they are public.

    They are those of `domain` ('sex=Female|Male;town=...'), else the leaves of a hierarchy that
    lists them, else those of the data, which are not public, nor are those that a builder found.
    """
    told = domains(domain, table)
    column = table.column(name)
    if name in told:
        categories = told[name]
    elif name in table.hierarchies and table.hierarchies[name].public:
        categories = table.hierarchies[name].leaves
    else:
        return column.categories, False
    absent = sum(label not in set(categories) for label in column.categories)
    if absent:
        raise InputError(f"The declared categories of '{name}' lack {absent:,} values; add them.")
    return categories, True


def domains(domain: str, table: Table) -> Mapping[str, tuple[str, ...]]:
    """Read 'sex=Female|Male;town=Rome|Oslo'."""
    made = {}
    for part in filter(None, (one.strip() for one in domain.split(";"))):
        name, equals, listed = part.partition("=")
        if name not in table:
            raise unknown_column(name, table.columns)
        values = tuple(value.strip() for value in listed.split("|"))
        if not equals or not all(values) or len(set(values)) < len(values):
            raise ParameterError("Categories are declared as 'sex=Female|Male;town=Rome|Oslo'.")
        made[name] = values
    return made
