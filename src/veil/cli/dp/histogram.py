"""``veil dp histogram``: how many there are of each key, in noisy numbers."""

from pathlib import Path
from typing import cast

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import NEW_FILE, stderr, stdout
from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.data.lines import read_lines, require_file
from veil.data.releases import check_output, open_writer
from veil.data.rows import read_table
from veil.dp.histogram import Histogram, Select
from veil.dp.histogram import histogram as counted

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("histogram")
@click.argument("file", type=_FILE)
@click.option("--column", required=True, help="column of the keys to count")
@click.option("--epsilon", type=float, required=True, help="budget of the whole histogram")
@click.option("--delta", type=float, default=0.0, show_default=True,
              help="needed where the keys are not public")  # fmt: skip
@click.option("--unit", help="column that says whose a row is; else each row is a unit")
@click.option("--max-groups", type=int, default=1, show_default=True,
              help="for how many keys a unit counts at the most")  # fmt: skip
@click.option("--keys", type=_FILE, help="file of all keys, one a line, if they are public")
@click.option("--select", type=click.Choice(["threshold", "optimal"]), default="threshold",
              show_default=True, help="how keys that are not public are selected")  # fmt: skip
@click.option("-o", "--out", type=NEW_FILE, help="write a table there; its name tells the format")
@click.option("--seed", type=int, help="repeats the draws, for experiments: NOT PRIVATE")
def histogram(
    file: Path,
    column: str,
    epsilon: float,
    delta: float,
    unit: str | None,
    max_groups: int,
    keys: Path | None,
    select: str,
    out: Path | None,
    seed: int | None,
) -> None:
    """Count the rows, or units, of each key of FILE, and release noisy counts.

    Keys that are not public (--keys) are shown only where enough units have them: --delta is the
    chance that a key of one unit alone is shown.
    """
    if out is not None:
        check_output(out)
        if out.resolve() == file.resolve():
            raise InputError("The output would replace the input; name another file.")
    listed = None
    if keys is not None:
        require_file(keys, "a list of keys")
        listed = [line.rstrip("\r\n") for line in read_lines(keys)]
    _, rows = read_table(file, [column] if unit is None else [column, unit])
    read = [row.values for row in rows]
    found = counted(
        [values[0] for values in read],
        epsilon,
        delta,
        keys=listed,
        units=None if unit is None else [values[1] for values in read],
        max_groups=max_groups,
        rng=seed,
        select=cast(Select, select),
    )
    _show(found, column, out)


def _show(found: Histogram, column: str, out: Path | None) -> None:
    if out is None:
        table = Table(escape(column), "noisy count")
        for key, count in found.counts.items():
            table.add_row(escape(str(key)), f"{count:,}")
        stdout().print(table)
    else:
        with open_writer(out, [column, "count"], column, private=False) as writer:
            writer.write(list(found.counts.items()))
    notes = stderr()
    rule = "" if found.threshold is None else f", shown from {found.threshold:,} on"
    notes.print(f"{count_of(len(found.counts), 'key')}{rule}; {escape(str(found.cost))}.")
    if found.cost.caveat:
        notes.print(f"[yellow]{escape(found.cost.caveat)}[/yellow]")
    if found.seeded:
        notes.print("[yellow]Seeded: the draws can be repeated. NOT PRIVATE.[/yellow]")
