"""``veil ratings fit``: learn a model from ratings."""

from pathlib import Path

import click

from veil.cli.ratings._input import FILE, refuse_same, with_scale
from veil.cli.terminal import NEW_FILE
from veil.core.errors import ParameterError
from veil.ratings.models import save_model
from veil.ratings.ratings import Ratings, Scale
from veil.ratings.reader import load
from veil.ratings.recommender import Model
from veil.ratings.recommenders import recommender
from veil.ratings.recommenders.content import Content
from veil.ratings.recommenders.kernels import SLOWER, compiled_at_hand
from veil.ratings.release import SEEDED


@click.command("fit")
@click.argument("spec")
@click.argument("train", type=FILE)
@click.option("--positive", type=float, help="from which rating on an item is liked")
@click.option("--items", type=FILE, help="table of the items, for content")
@click.option("--describe-by", metavar="COLUMN,...", help="its columns that describe them")
@click.option("--seed", type=int, help="draw the same again: for experiments, not private")
@click.option("-o", "--out", type=NEW_FILE, required=True, help="model.npz to write")
@click.option("--catalogue", type=FILE, help="table of all items that there are, rated or not")
@with_scale
def fit(
    spec: str,
    train: Path,
    positive: float | None,
    items: Path | None,
    describe_by: str | None,
    seed: int | None,
    out: Path,
    catalogue: Path | None,
    scale: Scale | None,
    columns: tuple[str, ...] | None,
) -> None:
    """Learn SPEC, as 'itemknn(k=20)', from the ratings of TRAIN."""
    refuse_same(out, train, items, catalogue)
    data = load(train, scale, columns, catalogue)
    if not compiled_at_hand():
        click.echo(SLOWER, err=True)
    model = _fitted(spec, data, positive, seed, items, describe_by)
    save_model(model, out)
    click.echo(f"{out}: {model.spec}", err=True)
    click.echo(str(model.guarantee))
    told = (SEEDED,) if model.seeded and model.guarantee.kind != "none" else ()
    for sentence in filter(None, (model.guarantee.caveat, *model.notes, *told)):
        click.echo(sentence)


def _fitted(
    spec: str,
    data: Ratings,
    positive: float | None,
    seed: int | None,
    items: Path | None,
    describe_by: str | None,
) -> Model:
    chosen = recommender(spec)
    if isinstance(chosen, Content):
        by = None if describe_by is None else describe_by.split(",")
        return chosen.fit(data, positive=positive, rng=seed, items=items, columns=by)
    if items is not None or describe_by is not None:
        raise ParameterError("--items and --describe-by are for content alone.")
    return chosen.fit(data, positive=positive, rng=seed)
