"""A file that says once what the columns of a table are.

::

    [columns.age]
    role = "qi"
    hierarchy = "adult_hierarchy_age.csv"     # beside the schema, or intervals(width=10, steps=3)
"""

import tomllib
from pathlib import Path
from typing import Any, cast

from veil.core.errors import InputError
from veil.tables.builders import builder
from veil.tables.table import ROLES, Role

_KEYS = {"role", "hierarchy"}


def read_schema(path: Path) -> tuple[dict[str, Role], dict[str, Any]]:
    """Return the roles, and what the hierarchies are made of, by column."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"The schema {path.name} cannot be read.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InputError(f"The schema {path.name} is no TOML file.") from None
    columns = found.get("columns")
    if set(found) != {"columns"} or not isinstance(columns, dict):
        raise InputError(f"The schema {path.name} must have one table, [columns].")
    roles: dict[str, Role] = {}
    hierarchies: dict[str, Any] = {}
    for name, told in columns.items():
        if not isinstance(told, dict) or not set(told) <= _KEYS:
            raise InputError(f"In {path.name} a column has the keys role and hierarchy alone.")
        role = told.get("role", "other")
        if role not in ROLES:
            raise InputError(
                f"In {path.name} the role of '{name}' must be one of {', '.join(ROLES)}."
            )
        roles[name] = cast(Role, role)
        if "hierarchy" in told:
            hierarchies[name] = _hierarchy(told["hierarchy"], path)
    return roles, hierarchies


def _hierarchy(told: object, path: Path) -> Any:  # noqa: ANN401 - a path or a builder
    if not isinstance(told, str):
        raise InputError(f"In {path.name} a hierarchy is a file or a builder, as a text.")
    made = builder(told)
    return path.parent / told if made is None else made
