"""``veil ratings split``: a part for training and a part for testing."""

from pathlib import Path

import click

from veil.cli.ratings._input import FILE, refuse_same, with_scale
from veil.cli.terminal import NEW_FILE
from veil.ratings.ratings import Scale
from veil.ratings.reader import load
from veil.ratings.release import write_ratings
from veil.ratings.split import split as parted


@click.command("split")
@click.argument("file", type=FILE)
@click.option("--fraction", type=float, default=0.2, show_default=True, help="share of the test")
@click.option("--salt", type=int, default=0, show_default=True, help="another number parts anew")
@click.option("--by", type=click.Choice(["hash", "time"]), default="hash", show_default=True,
              help="by a hash of user and item, or everything after one instant")  # fmt: skip
@click.option("--train", type=NEW_FILE, required=True, help="CSV file to write")
@click.option("--test", type=NEW_FILE, required=True, help="CSV file to write")
@with_scale
def split(
    file: Path,
    fraction: float,
    salt: int,
    by: str,
    train: Path,
    test: Path,
    scale: Scale | None,
    columns: tuple[str, ...] | None,
) -> None:
    """Part the ratings of FILE; the same however its rows are ordered."""
    refuse_same(train, file, test)
    refuse_same(test, file)
    data = load(file, scale=scale, columns=columns)
    for part, path in zip(parted(data, fraction, salt, by), (train, test), strict=True):  # type: ignore[arg-type]
        write_ratings(part, path)
        click.echo(f"{path}: {len(part):,} ratings", err=True)
