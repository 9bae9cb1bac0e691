"""``veil dp report``: randomise each value on its own, before anybody collects it."""

from pathlib import Path

import click
from rich.markup import escape

from veil.cli.flags import Components
from veil.cli.terminal import NEW_FILE, stderr
from veil.core.errors import InputError, ParameterError
from veil.data.files import require_folder
from veil.dp.local.files import read_values, report_to
from veil.dp.local.memoise import read_key
from veil.dp.local.oracle import Oracle
from veil.dp.local.oracles import ORACLES
from veil.dp.local.reports import Desk

_FILE = click.Path(path_type=Path, dir_okay=False)


def _run(
    chosen: Oracle,
    values: Path,
    out: Path,
    column: str | None,
    user: str | None,
    key_file: Path | None,
    question: str,
    seed: int | None,
) -> None:
    require_folder(out)
    if out.suffix.lower() != ".npz":
        raise InputError(f"{out.name} must end in .npz; name another file.")
    if out.resolve() == values.resolve():
        raise InputError("The output would replace the input; name another file.")
    if key_file is not None and user is None:
        raise ParameterError("A key needs users: name their column with --user.")
    key = None if key_file is None else read_key(key_file)
    desk = Desk(chosen, user is not None, key, seed, question)
    given, users = read_values(values, chosen.takes, column, user)
    made = report_to(desk, given, users, out)
    notes = stderr()
    notes.print(f"{escape(str(out))}: {escape(made.mechanism)}, {escape(str(made.cost))}.")
    if made.cost.caveat:
        notes.print(f"[yellow]{escape(made.cost.caveat)}[/yellow]")
    if made.seeded:
        notes.print("[yellow]Seeded: the draws can be repeated. NOT PRIVATE.[/yellow]")


report = Components(
    "report",
    "Randomise each value of a file on its own, and write the reports.",
    ORACLES,
    _run,
    [
        click.Argument(["values"], type=_FILE),
        click.Option(["-o", "--out"], type=NEW_FILE, required=True, help="file of reports, .npz"),
        click.Option(["--column"], help="column of the values, where a table has several"),
        click.Option(["--user"], help="column that says whose a value is"),
        click.Option(
            ["--key-file"],
            type=_FILE,
            help="secret key of 32 bytes: what an oracle can memoise stays the same for a user",
        ),
        click.Option(
            ["--question"], default="", help="what is asked, where a key serves several columns"
        ),
        click.Option(["--seed"], type=int, help="repeats the draws, for experiments: NOT PRIVATE"),
    ],
    noun="oracle",
    shown="hcms --epsilon 4",
    spec="hcms(epsilon=4)",
)
