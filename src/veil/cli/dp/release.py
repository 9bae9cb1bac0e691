"""``veil dp release``: numbers in, noisy numbers out."""

from pathlib import Path

import click
import numpy as np
from rich.markup import escape

from veil.cli.flags import Components
from veil.cli.terminal import NEW_FILE, stderr
from veil.core.errors import InputError
from veil.data.releases import check_output, open_writer
from veil.dp.inputs import read_given_numbers
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import MECHANISMS
from veil.dp.release import Release
from veil.dp.release import release as released

_FILE = click.Path(path_type=Path, dir_okay=False)


def _run(
    mechanism: Mechanism,
    numbers: tuple[str, ...],
    column: str | None,
    out: Path | None,
    seed: int | None,
) -> None:
    if out is not None:
        check_output(out)
        if out.exists():
            raise InputError(f"{out.name} is there already; name another file.")
    made = released(read_given_numbers(numbers, column), mechanism, rng=seed)
    values = np.atleast_1d(made.value).tolist()
    if out is None:
        for value in values:
            click.echo(value)
    else:
        with open_writer(out, ["value"], "value", private=False) as writer:
            writer.write([(value,) for value in values])
    _tell(made)
    if mechanism.answers == "count" and len(values) > 1:
        stderr().print(f"[yellow]{escape(_one_query(mechanism, len(values)))}[/yellow]")


def _one_query(mechanism: Mechanism, numbers: int) -> str:
    """Say what a record may change, whether the mechanism came by flags or as a spec."""
    field = type(mechanism).model_fields.get("sensitivity")
    most = ""
    if field is not None:
        size = getattr(mechanism, "sensitivity", 1)
        most = f" The cost holds for the sensitivity {size:g}: {field.description}."
    advice = "For a column of records, sum or count first."
    return f"The {numbers:,} numbers are one query.{most} {advice}"


def _tell(made: Release) -> None:
    """Say what the release costs, and what that does not cover."""
    notes = stderr()
    notes.print(f"{escape(made.mechanism)}: {escape(str(made.cost))}.")
    if made.cost.caveat:
        notes.print(f"[yellow]{escape(made.cost.caveat)}[/yellow]")
    if made.seeded:
        notes.print("[yellow]Seeded: the draws can be repeated. NOT PRIVATE.[/yellow]")


release = Components(
    "release",
    "Release an exact answer once: NUMBERS, or a file and --column. All numbers together are ONE"
    " query, whose sensitivity is given: for geometric and laplace what they change by in sum (L1)"
    " when a record is added or removed. Noisy values are printed, one in a line; what they cost"
    " goes to stderr.",
    MECHANISMS,
    _run,
    [
        click.Argument(["numbers"], nargs=-1, metavar="NUMBERS... | FILE"),
        click.Option(["--column"], help="column of the numbers, where a file is named"),
        click.Option(
            ["-o", "--out"],
            type=NEW_FILE,
            help="write a table there, which must not be there yet; its name tells the format",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(0),
            help="repeats the draws, for experiments: NOT PRIVATE",
        ),
    ],
    shown="geometric --epsilon 0.5",
    spec="geometric(epsilon=0.5)",
    numbers=True,
)
