"""``veil ratings protect``: other ratings under other ids, with their card."""

from pathlib import Path

import click
from rich.markup import escape

from veil.cli.terminal import NEW_FILE, stderr
from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.protect import protect as protected
from veil.ratings.reader import load
from veil.ratings.recommender import Recommender
from veil.ratings.release import card_of, require_writable, save

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("protect")
@click.argument("protection")
@click.argument("file", type=FILE)
@click.option("-o", "--out", type=NEW_FILE, required=True, help="CSV file to write")
@click.option("--scale", type=float, nargs=2, metavar="LOW HIGH",
              help="lowest and highest rating there can be; private methods need it")  # fmt: skip
@click.option("--columns", metavar="NAMES",
              help="of user, item, rating and perhaps time, with commas")  # fmt: skip
@click.option("--catalogue", type=FILE, help="table of all items that there are, rated or not")
@click.option("--seed", type=int, help="repeats the draws, for experiments: NOT PRIVATE")
def protect(
    protection: str,
    file: Path,
    out: Path,
    scale: tuple[float, float] | None,
    columns: str | None,
    catalogue: Path | None,
    seed: int | None,
) -> None:
    """Protect the ratings of FILE by PROTECTION, as "kprofiles(k=10)", and write them to OUT.

    Every user gets a random id, which is kept nowhere, and users are in the order of these. A card
    beside OUT (OUT.veil.json) says what was done, what is proved, what is not, and whether by a
    seed.
    """
    require_writable(out)
    if file.resolve() in (out.resolve(), card_of(out).resolve()):
        raise InputError("The output would replace the input; name another file.")
    chosen = MECHANISMS.parse(protection)
    if isinstance(chosen, Recommender):
        raise InputError(
            f"{chosen.name} releases a model, and not ratings: veil ratings fit '{chosen.name}"
            "(...)' FILE -o model.npz."
        )
    names = None if columns is None else [one.strip() for one in columns.split(",")]
    ratings = load(file, scale=scale, columns=names, catalogue=catalogue)
    release = protected(ratings, chosen, seed)
    save(release, out)
    notes, cost = stderr(), release.cost
    assert release.data is not None  # noqa: S101 - no model was asked for
    told = f"{count_of(len(release.data), 'rating')} of {count_of(release.data.n, 'user')}"
    notes.print(f"{out}: {told}.", markup=False)
    notes.print(f"{escape(release.mechanism)}: {escape(str(cost))}.")
    for sentence in filter(None, (cost.caveat, *release.notes)):
        notes.print(f"[yellow]{escape(sentence)}[/yellow]")
    notes.print(f"{card_of(out)}", markup=False)
