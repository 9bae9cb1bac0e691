"""``veil tables describe``: what tells rows apart, and a draft schema."""

import warnings
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.tables._roles import FILE
from veil.cli.terminal import NEW_FILE, fits, stderr, stdout
from veil.core.formatting import count_of
from veil.tables.describe import Description
from veil.tables.describe import describe as described
from veil.tables.schema import load


@click.command("describe")
@click.argument("file", type=FILE)
@click.option("--schema", type=FILE, help="TOML file of roles that are known already")
@click.option("--sep", help="what separates the columns, if the file does not tell")
@click.option("--missing", multiple=True, metavar="TEXT", help="a text that means: no value")
@click.option(
    "-o", "--out", type=NEW_FILE, help="write a draft schema there, for a person to edit"
)
def describe(
    file: Path, schema: Path | None, sep: str | None, missing: tuple[str, ...], out: Path | None
) -> None:
    """Say of each column of FILE how much it tells rows apart, and what it may be.

    Roles are guessed from names and counts, and no column is guessed to be harmless. The draft
    schema is to be read and edited; then --schema gives it to all other commands.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it is told below
        table = load(file, schema=schema, sep=sep, missing=("", *missing))
    found = described(table)
    _show(found)
    if out is not None:
        found.write(out)
        stderr().print(f"{out}", markup=False)


def _show(found: Description) -> None:
    console = stdout()
    whole = fits(console, _grid(found, hierarchies=True))
    console.print(_grid(found, hierarchies=whole))
    for one in () if whole else found.columns:
        if one.proposal.hierarchy:
            click.echo(f"{one.name}: {one.proposal.hierarchy}?")
    click.echo(f"{count_of(found.rows, 'row')}. Alone: share of rows with a value of their own.")
    for one in found.columns:
        if one.suspicious:
            click.echo(f"Look at {one.name}: {one.suspicious}.")
    for first, second, share in found.together:
        click.echo(f"{first} and {second} together tell {share:.1%} of the rows from all others.")


def _grid(found: Description, *, hierarchies: bool) -> Table:
    """Return a line for each column; hierarchies need much room, and may be left out."""
    grid = Table()
    for title in "column kind different alone bits missing role?".split():
        grid.add_column(title, no_wrap=title != "kind")
    if hierarchies:
        grid.add_column("hierarchy?")
    for one in found.columns:
        cells = [
            escape(one.name),
            one.kind,
            f"{one.distinct:,}",
            f"{one.uniqueness:.1%}",
            f"{one.entropy:.2f}",
            f"{one.missing:,}",
            one.proposal.role,
        ]
        grid.add_row(*cells, *([escape(one.proposal.hierarchy)] if hierarchies else []))
    return grid
