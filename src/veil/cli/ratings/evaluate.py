"""``veil ratings evaluate``: how good a model is on held-out ratings."""

import json
from pathlib import Path

import click
from rich.table import Table

from veil.cli.ratings._input import FILE, with_catalogue
from veil.cli.terminal import stdout
from veil.ratings.evaluate import Scores
from veil.ratings.evaluate import evaluate as evaluated
from veil.ratings.models import open_model
from veil.ratings.reader import load


@click.command("evaluate")
@click.argument("model", type=FILE)
@click.argument("train", type=FILE)
@click.argument("test", type=FILE)
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="depth of lists")
@click.option("--measures", metavar="NAME,...", help="some measures; all by default")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@with_catalogue
def evaluate(
    model: Path,
    train: Path,
    test: Path,
    k: int,
    measures: str | None,
    as_json: bool,
    columns: tuple[str, ...] | None,
    catalogue: Path | None,
) -> None:
    """Measure MODEL, learnt from TRAIN, on the ratings of TEST, with intervals over users."""
    fitted = open_model(model, train, columns, catalogue)
    names = None if measures is None else [part.strip() for part in measures.split(",")]
    found = evaluated(fitted, load(test, columns=columns), k, names)
    if as_json:
        click.echo(json.dumps(_document(found, fitted.spec), indent=1))
        return
    shown = Table("measure", "value", "low", "high")
    for name in found:
        one = found[name]
        shown.add_row(name, f"{float(one):.4f}", f"{one.low:.4f}", f"{one.high:.4f}")
    stdout().print(shown)
    click.echo(
        f"Lists of {k} for {len(found.users):,} users; {found.left_out:,} without a relevant item"
        f" left out. {found.pairs:,} ratings predicted. Intervals: 95 %, over users."
    )


def _document(found: Scores, spec: str) -> dict[str, object]:
    measures = {
        name: {"value": float(found[name]), "low": found[name].low, "high": found[name].high}
        for name in found
    }
    return {
        "model": spec,
        "k": found.k,
        "users": len(found.users),
        "left_out": found.left_out,
        "pairs": found.pairs,
        "measures": measures,
    }
