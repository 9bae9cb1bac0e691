"""Options that say what the columns of a table are, the same for all commands."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from veil.cli.terminal import stderr
from veil.core.errors import InputError
from veil.data.lines import Progress
from veil.tables.files import make_release
from veil.tables.mechanism import Release
from veil.tables.schema import Source
from veil.tables.table import Table

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
_COLUMNS = "COLUMNS"

_OPTIONS = (
    click.option("--qi", multiple=True, metavar=_COLUMNS,
                 help="what an attacker may know, with commas"),
    click.option("--confidential", multiple=True, metavar=_COLUMNS,
                 help="what must not be learnt"),
    click.option("--identifiers", multiple=True, metavar=_COLUMNS, help="what no release has"),
    click.option("--weight", metavar="COLUMN", help="sampling weights"),
    click.option("--hierarchies", type=FOLDER,
                 help="folder with age.csv or ..._age.csv for the column age"),
    click.option("--schema", type=FILE, help="TOML file that says all this once"),
    click.option("--sep", help="what separates the columns, if the file does not tell"),
    click.option("--missing", multiple=True, metavar="TEXT", help="a text that means: no value"),
    click.option("--text", multiple=True, metavar=_COLUMNS,
                 help="codes that look like numbers, with commas: 39 and 39.0 then differ"),
)  # fmt: skip


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of roles; it gets what they say as `source`."""

    @wraps(command)
    def run(**values: Any) -> None:  # noqa: ANN401 - checked by click
        source = Source(
            listed(values.pop("identifiers")),
            listed(values.pop("qi")),
            listed(values.pop("confidential")),
            values.pop("weight"),
            values.pop("hierarchies"),
            values.pop("schema"),
            values.pop("sep"),
            values.pop("missing"),
            listed(values.pop("text")),
        )
        command(source=source, **values)

    made: Callable[..., None] = run
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


def listed(given: tuple[str, ...]) -> tuple[str, ...]:
    """Read columns with commas between them.

    >>> listed(("sex,age", "race"))
    ('sex', 'age', 'race')
    """
    parts = (part.strip() for one in given for part in one.split(","))
    return tuple(part for part in parts if part)


def opened(source: Source, path: Path, progress: Progress = lambda _: None) -> Table:
    """Open the original, and pass warnings on."""
    table, warned = source.opened(path, progress)
    for sentence in warned:
        stderr().print(f"[yellow]{escape(sentence)}[/yellow]")
    return table


def both(
    source: Source, path: Path, masked: str, seed: int | None = None
) -> tuple[Table, Release]:
    """Open an original and its release, with hierarchies beside the original where they help.

    A release of which rows were removed is made again to find which rows are left; that needs the
    hierarchies it was made with, and shows whether these are they.
    """
    table = opened(source, path)
    release = make_release(masked, table, source, seed)
    near = source.beside(path)
    if release.rows is not None or near is source:
        return table, release
    try:
        full = near.opened(path)[0]
        again = make_release(masked, full, near, seed)
    except InputError:  # nobody asked for these hierarchies
        return table, release
    if again.rows is None:
        return table, release
    stderr().print(escape(f"With the hierarchies beside {path.name}; --hierarchies says others."))
    return full, again


def study_keys(source: Source, path: Path) -> dict[str, Any]:
    """Return what is said of a table as keys of a study."""
    given = {
        "table": str(path),
        "identifiers": list(source.identifiers),
        "qi": list(source.qi),
        "confidential": list(source.confidential),
        "weight": source.weight,
        "hierarchies": source.hierarchies and str(source.hierarchies),
        "schema": source.schema and str(source.schema),
        "sep": source.sep,
        "missing": list(source.missing),
        "text": list(source.text),
    }
    return {key: value for key, value in given.items() if value}
