"""``veil tables measure``: how anonymous a released file is, in words."""

from dataclasses import asdict, replace
from pathlib import Path

import click

from veil.cli.tables._blocks import TABLE, BlockOptions, refuse, with_blocks
from veil.cli.tables._roles import FILE, opened, with_source
from veil.core.errors import InputError
from veil.tables.files import SEEDED, Card, read_card, read_release, verdict_of
from veil.tables.hierarchy import Hierarchy
from veil.tables.measures.anonymity import anonymity
from veil.tables.measures.loss import quality
from veil.tables.schema import Source
from veil.tables.table import Table
from veil.tables.verbs import format_anonymity, format_quality, format_verdict


@click.command("measure")
@click.argument("masked", type=TABLE)
@with_source
@with_blocks
@click.option("--original", type=FILE, help="what it was made of, for t and the quality")
@click.option("--l", "least", type=click.IntRange(1), default=3, show_default=True,
              help="of recursive diversity")  # fmt: skip
@click.option("--blank-matches", is_flag=True,
              help="let a missing value match every value, as readers of sdcMicro do")  # fmt: skip
def measure(
    masked: Path,
    source: Source,
    large: BlockOptions | None,
    original: Path | None,
    least: int,
    blank_matches: bool,
) -> None:
    """Say how anonymous MASKED is: k, l, t, classes, uniques, and its quality.

    Roles are those of the options, or of its card (MASKED.veil.json). If the card claims k, l or
    t, they are counted in the file, and the exit code is 1 where the claim does not hold. Values
    that the file spells in two ways are two. Missing values are equal to each other, as a star is
    a value, unless --blank-matches is given. t compares with the file as a whole. The quality
    needs the original; where rows were removed it is that of the card.
    """
    card = read_card(masked)
    if large is not None:
        refuse(large, original=original, **{"blank-matches": blank_matches})
        _by_blocks(large, masked, source.with_roles(card.roles), least)
        holds = _say_claim(masked, card, source.hierarchies)
        _leave(card, holds=holds)
        return
    table = source.released(masked, card.roles, card.types)
    true = None if original is None else opened(source, original)
    if true is not None:
        table = replace(table, hierarchies=_kept(true, table))
    missing = "any" if blank_matches else "equal"
    found = anonymity(table, None, least, missing)  # type: ignore[arg-type]
    for line in format_anonymity(found, len(table), table.qi, table.confidential, least):
        click.echo(line)
    holds = _say_claim(masked, card, source.hierarchies)
    told = _quality(masked, source, true) or card.quality
    if told:
        for line in format_quality(told):
            click.echo(line)
    else:
        click.echo("Quality: not known without --original, or a card beside the file.")
    _leave(card, holds=holds)


def _by_blocks(large: BlockOptions, masked: Path, source: Source, least: int) -> None:
    with large.opened(masked, source, verbatim=True) as blocks:
        known, secret = blocks.of_role("qi"), blocks.of_role("confidential")
        rows, found = blocks.measured(least)
    for line in format_anonymity(found, rows, known, secret, least):
        click.echo(line)


def _say_claim(masked: Path, card: Card, hierarchies: Path | None) -> bool:
    """Say whether the claim of the card holds in the file, and return that."""
    claim, verdict = card.claim, verdict_of(masked, card, hierarchies)
    if claim is None or verdict is None:
        return True
    for line in format_verdict(verdict, claim):
        click.echo(line)
    return not verdict.faults


def _leave(card: Card, *, holds: bool) -> None:
    """Say what is left to say; exit with 1 where a claim does not hold."""
    if card.seeded:
        click.echo(SEEDED, err=True)
    if not holds:
        raise click.exceptions.Exit(1)


def _kept(true: Table, table: Table) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns whose values are as they were."""
    return {name: one for name, one in true.hierarchies.items() if name in table.confidential}


def _quality(masked: Path, source: Source, true: Table | None) -> dict[str, float]:
    if true is None:
        return {}
    release = read_release(masked, true, source)
    if release.rows is None:
        return {}
    try:
        found = asdict(quality(true, release))
    except InputError:
        return {}
    return {name: float(value) for name, value in found.items() if value is not None}
