"""``veil tables loss``: what a release lost of its original."""

import math
from collections.abc import Mapping
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.tables._roles import FILE, both, with_source
from veil.cli.terminal import fits, stderr, stdout
from veil.tables.measures.loss import Loss
from veil.tables.measures.loss import loss as lost
from veil.tables.measures.utility import utility
from veil.tables.schema import Source
from veil.tables.verbs import overall_of_loss


@click.command("loss")
@click.argument("file", type=FILE)
@click.argument("masked")
@with_source
@click.option("--target", metavar="COLUMN", help="also train a classifier to predict it")
@click.option("--order", type=click.IntRange(1, 2), default=2, show_default=True,
              help="columns of contingency tables, at the most")  # fmt: skip
@click.option("--seed", type=int, help="of a method that draws")
def loss(
    file: Path, masked: str, source: Source, target: str | None, order: int, seed: int | None
) -> None:
    """Say what MASKED, a release of FILE, lost: by column, and overall.

    MASKED is a file, or a method, as "mdav(k=10)", which is then applied. Where it is not known
    which row is which, as of synthetic data, distributions alone are compared.
    """
    table, release = both(source, file, masked, seed)
    found = lost(table, release, order=order)
    _show(found)
    worth = Table("utility", "", "")
    worth.add_row("marginals", f"{utility(table, release):.4f}", "of 1: pairs of columns")
    if release.rows is not None:
        worth.add_row("cells", f"{utility(table, release, 'cells'):.4f}", "of 1: single cells")
    if target is not None:
        learnt = found.ml(target)
        says = f"a classifier of {target} is right; on the original {learnt.original:.4f}"
        worth.add_row(
            "ml", f"{learnt.accuracy:.4f}", escape(f"{says}, blindly {learnt.majority:.4f}")
        )
    stdout().print(worth)
    if release.rows is None:
        stderr().print("Which row is which is not known: distributions alone are compared.")


def _show(found: Loss) -> None:
    overall = Table("overall", "", "")
    for name, value, says in overall_of_loss(found):
        overall.add_row(name, _number(value), escape(says))
    stdout().print(overall)
    kinds: dict[tuple[str, ...], dict[str, Mapping[str, float]]] = {}
    for column, figures in found.columns.items():  # numbers and categories have other figures
        kinds.setdefault(tuple(figures), {})[column] = figures
    for names, columns in kinds.items():
        _by_column(columns, list(names))


def _by_column(columns: Mapping[str, Mapping[str, float]], names: list[str]) -> None:
    """Print figures by column, as many side by side as there is room for without a cut."""
    console = stdout()
    while names:
        for count in range(len(names), 0, -1):
            table = Table("column", *names[:count])
            for column, figures in columns.items():
                table.add_row(escape(column), *(_number(figures[one]) for one in names[:count]))
            if fits(console, table) or count == 1:
                break
        console.print(table)
        names = names[count:]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:,.4g}"
