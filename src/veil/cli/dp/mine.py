"""``veil dp mine``: a private classifier of the rows of a table."""

from pathlib import Path
from typing import cast

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import stderr, stdout
from veil.dp.mining.classifier import Classifier, Mined
from veil.dp.mining.classifier import mine as mined
from veil.dp.mining.columns import Column

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("mine")
@click.argument("method", type=click.Choice(["naive_bayes", "logistic"]))
@click.argument("file", type=_FILE)
@click.option("--label", required=True, help="column to learn")
@click.option("--column", "columns", multiple=True, metavar="NAME[:LOW:HIGH[:BINS]]",
              help="column to learn from, with bounds if of numbers; without it all")  # fmt: skip
@click.option("--class", "classes", multiple=True, help="a label; name all, as they are public")
@click.option("--epsilon", type=float, required=True, help="budget of the whole model")
@click.option("--delta", type=float, default=1e-6, show_default=True,
              help="chance that it is exceeded, of logistic alone")  # fmt: skip
@click.option("--test", type=_FILE, help="table to test with")
@click.option("--holdout", type=float, default=0.3, show_default=True,
              help="else the share of the rows that is kept for the test")  # fmt: skip
@click.option("--seed", type=int, help="repeats the draws, for experiments: NOT PRIVATE")
def mine(
    method: str,
    file: Path,
    label: str,
    columns: tuple[str, ...],
    classes: tuple[str, ...],
    epsilon: float,
    delta: float,
    test: Path | None,
    holdout: float,
    seed: int | None,
) -> None:
    """Learn a column of FILE from others with noise, and tell how often the model is right.

    Bounds of numbers must be public: name what anybody could, and not the least and the largest
    value of FILE. Columns without bounds are texts, which are hashed into 32 cells.

    The model is private. Its accuracy is counted exactly, and tells of the rows of the test.
    """
    found = mined(
        file,
        cast(Classifier, method),
        label,
        epsilon,
        delta,
        columns=[Column.parse(column) for column in columns],
        classes=list(classes) or None,
        test=test,
        holdout=holdout,
        rng=seed,
    )
    _show(found, method)


def _show(found: Mined, method: str) -> None:
    table = Table("model", "learnt from", "tested with", "accuracy", "majority")
    table.add_row(
        method,
        f"{found.trained:,} rows",
        f"{found.tested:,} rows",
        f"{found.accuracy:.3f}",
        f"{found.majority:.3f}",
    )
    stdout().print(table)
    notes = stderr()
    notes.print(f"The model: {escape(str(found.cost))}. The accuracy is exact, and not private.")
    if found.cost.caveat:
        notes.print(f"[yellow]{escape(found.cost.caveat)}[/yellow]")
    if found.model.seeded:
        notes.print("[yellow]Seeded: the draws can be repeated. NOT PRIVATE.[/yellow]")
