"""``veil ratings recommend``: the best items for a user."""

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.ratings._input import FILE, with_catalogue
from veil.cli.terminal import stdout
from veil.ratings.models import open_model


@click.command("recommend")
@click.argument("model", type=FILE)
@click.option("--train", type=FILE, required=True, help="the ratings it was learnt from")
@click.option("--user", "users", multiple=True, required=True, help="id of a user")
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="items to list")
@with_catalogue
def recommend(
    model: Path,
    train: Path,
    users: tuple[str, ...],
    k: int,
    columns: tuple[str, ...] | None,
    catalogue: Path | None,
) -> None:
    """List the best items of MODEL for users; what they rated in training is never listed."""
    ranking = open_model(model, train, columns, catalogue).recommend(users, k)
    shown = Table(*(["user"] if len(users) > 1 else []), "rank", "item", "score")
    for row, user in enumerate(users):
        for rank, item in enumerate(ranking.list(row), start=1):
            who = [escape(user)] if len(users) > 1 else []
            score = f"{ranking.scores[row, rank - 1]:.4f}"
            shown.add_row(*who, str(rank), escape(item), score)
    stdout().print(shown)
