"""``veil dp law``: exact probabilities of outputs."""

import json

import click
import numpy as np
from rich.table import Table

from veil.cli.flags import Components
from veil.cli.terminal import stdout
from veil.core.errors import InputError
from veil.dp.inputs import numbers_of, read_given_numbers
from veil.dp.law import table_of_law
from veil.dp.mechanism import Array, Mechanism
from veil.dp.mechanisms import MECHANISMS


def _run(
    mechanism: Mechanism, numbers: tuple[str, ...], output: tuple[str, ...], as_json: bool
) -> None:
    rows = table_of_law(mechanism, read_given_numbers(numbers), _named(output))
    if as_json:
        law = [{"output": each, "probability": chance} for each, chance in rows]
        click.echo(json.dumps({"mechanism": str(mechanism), "law": law}, indent=1))
        return
    table = Table("output", "probability")
    for each, chance in rows:
        table.add_row(" ".join(map(str, each)), f"{chance:.10g}")
    stdout().print(table)


def _named(output: tuple[str, ...]) -> Array | None:
    """Read outputs, each a number or several with commas."""
    if not output:
        return None
    rows = [numbers_of(text.split(","), "The outputs").tolist() for text in output]
    if len({len(row) for row in rows}) > 1:
        raise InputError("All outputs must have as many numbers.")
    found = np.array(rows)
    return found[:, 0] if found.shape[1] == 1 else found


law = Components(
    "law",
    "Print exact probabilities: of all outputs for NUMBERS, or of those that are named.",
    MECHANISMS,
    _run,
    [
        click.Argument(["numbers"], nargs=-1),
        click.Option(
            ["--output"],
            multiple=True,
            metavar="NUMBER[,NUMBER...]",
            help="an output; may be repeated  [default: all, or those around one number]",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="print JSON"),
    ],
    shown="permute_and_flip --epsilon 1",
    spec="permute_and_flip(epsilon=1)",
    numbers=True,
)
