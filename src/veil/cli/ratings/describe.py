"""``veil ratings describe``: what a set of ratings is like."""

from pathlib import Path

import click
from rich.table import Table

from veil.cli.ratings._input import FILE, with_scale
from veil.cli.terminal import stdout
from veil.ratings.ratings import Scale
from veil.ratings.ratings import describe as described
from veil.ratings.reader import load


@click.command("describe")
@click.argument("file", type=FILE)
@with_scale
def describe(file: Path, scale: Scale | None, columns: tuple[str, ...] | None) -> None:
    """Count ratings, users and items of FILE, and how they are spread; no id is shown."""
    found = described(load(file, scale=scale, columns=columns))
    shown = Table("what", "value")
    low, high = found.scale
    for what, value in (
        ("ratings", f"{found.ratings:,}"),
        ("users", f"{found.users:,}"),
        ("items", f"{found.items:,}"),
        ("filled", f"{found.filled:.2%}"),
        ("scale", f"{low:g} to {high:g}, {'declared' if found.declared else 'as observed'}"),
        ("different ratings", f"{found.levels:,}"),
        ("mean", f"{found.mean:.3f}"),
        ("ratings per user", _spread(found.per_user)),
        ("ratings per item", _spread(found.per_item)),
        ("times", "yes" if found.timed else "no"),
    ):
        shown.add_row(what, value)
    stdout().print(shown)
    if not found.declared:
        click.echo("The scale was read off the data: private methods need --scale LOW HIGH.")


def _spread(counts: tuple[int, float, int]) -> str:
    least, median, most = counts
    return f"{least:,} to {most:,}, median {median:,g}"
