"""``veil tables attack``: how often somebody who knows some columns is right."""

from pathlib import Path

import click

from veil.cli.tables._roles import FILE, both, with_source
from veil.core.errors import ParameterError
from veil.tables.attack import attack as attacked
from veil.tables.attacks import attacker as attacker_of
from veil.tables.files import SEEDED, require_rows
from veil.tables.schema import Source
from veil.tables.table import Table
from veil.tables.verbs import format_attack


@click.command("attack")
@click.argument("file", type=FILE)
@click.argument("masked")
@click.argument("attackers", nargs=-1, metavar="[ATTACKER]...")
@with_source
@click.option("--population", help="file of everybody, or how many they are (unique)")
@click.option("--control", type=FILE, help="file of rows that were never used for the release")
@click.option("--seed", type=int, help="of attackers and methods that draw")
def attack(
    file: Path,
    masked: str,
    attackers: tuple[str, ...],
    source: Source,
    population: str | None,
    control: Path | None,
    seed: int | None,
) -> None:
    """Attack MASKED, a release of FILE, by ATTACKER (linkage), and say how often it is right.

    MASKED is a file whose row i is row i of FILE, or a method, as "mdav(k=10)", which is then
    applied. Attackers that need no rows take any file. The average stands beside the worst record:
    an average hides the one person who is unique. See 'veil tables attackers'.
    """
    chosen = [attacker_of(spec) for spec in attackers or ("linkage",)]
    table, release = both(source, file, masked, seed)
    people: Table | float | None = None
    if population is not None:
        people = _number(population) or source.opened(Path(population))[0]
    others = None if control is None else source.opened(control)[0]
    for by in chosen:
        if "rows" in by.needs:
            require_rows(release, masked)
        found = attacked(table, release, by, people, others, seed)
        for line in format_attack(found, by.brief, len(table)):
            click.echo(line)
    if release.seeded:
        click.echo(SEEDED, err=True)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    if found < 1:
        raise ParameterError("A population has at least one record.")
    return found
