"""``veil ratings attack``: how often somebody is right who knows a few ratings."""

from dataclasses import replace
from pathlib import Path

import click

from veil.core.errors import InputError
from veil.ratings.attack import Attack, format_attack
from veil.ratings.attack import attack as attacked
from veil.ratings.attacks import ATTACKS
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.ratings import Ratings
from veil.ratings.reader import load
from veil.ratings.release import Release, link_profiles, read_card, read_release

FILE = click.Path(path_type=Path, dir_okay=False)
_LINKED = (
    "Which profile is whose is in no file: guesses are scored by the profile that is most like a"
    " user's whole one."
)


@click.command("attack")
@click.argument("attacker")
@click.argument("target")
@click.option("--truth", type=FILE, required=True, help="file of the original ratings")
@click.option("--scale", type=float, nargs=2, metavar="LOW HIGH",
              help="lowest and highest rating there can be")  # fmt: skip
@click.option("--columns", metavar="NAMES",
              help="of user, item, rating and perhaps time of the truth, with commas")  # fmt: skip
@click.option("--positive", type=float, help="from which rating on an item is liked")
@click.option("--people", type=FILE, help="table of users, for attribute(column=...)")
@click.option("--mechanism", metavar="SPEC",
              help="what made TARGET, for bayes  [default: as its card says]")  # fmt: skip
@click.option("--seed", type=int, help="of attackers that draw")
def attack(
    attacker: str,
    target: str,
    truth: Path,
    scale: tuple[float, float] | None,
    columns: str | None,
    positive: float | None,
    people: Path | None,
    mechanism: str | None,
    seed: int | None,
) -> None:
    """Attack TARGET by ATTACKER, as "scoreboard(known=8, wrong=2)", and say how often it is right.

    TARGET is a released file, or a spec, as "kprofiles(k=10)" or "itemknn(k=20)", which is then
    applied to the truth. Nobody is named: only counts are shown.
    """
    by = ATTACKS.parse(attacker)
    names = None if columns is None else [one.strip() for one in columns.split(",")]
    originals = load(truth, scale, names)
    given: Release | str = target
    if Path(target).is_file():
        given = _released(Path(target), originals, mechanism, by)
    elif "/" in target or target.endswith((".csv", ".gz", ".tsv", ".parquet", ".jsonl")):
        raise InputError(f"There is no file {target}.")
    found = attacked(given, originals, by, seed, positive=positive, people=people)
    for line in format_attack(found, by.brief):
        click.echo(line)


def _released(path: Path, truth: Ratings, mechanism: str | None, by: Attack) -> Release:
    if by.fits:
        raise InputError(
            f"{by.name} makes the release itself, of a part of the users: name a spec, as"
            " kprofiles(k=10), instead of a file."
        )
    release = read_release(path)
    told = mechanism or read_card(path).mechanism
    release = replace(release, mechanism=str(MECHANISMS.parse(told)) if told else "")
    assert release.data is not None  # noqa: S101 - a file holds ratings
    if set(release.data.users) & set(truth.users):
        return release
    click.echo(_LINKED, err=True)
    return replace(release, rows=link_profiles(release.data, truth))
