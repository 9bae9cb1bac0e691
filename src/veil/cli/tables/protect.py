"""``veil tables protect``: a table without what identifies, masked and with its card."""

from pathlib import Path

import click
from rich.markup import escape

from veil.cli.tables._blocks import TABLE, BlockOptions, refuse, with_blocks
from veil.cli.tables._roles import listed, opened, with_source
from veil.cli.terminal import NEW_FILE, progress_bar, stderr
from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.tables.blocks import Written, protect_blocks
from veil.tables.files import SEEDED, card_of, require_writable, save
from veil.tables.mechanism import Release
from veil.tables.protect import protect as protected
from veil.tables.schema import Source
from veil.tables.verbs import format_given_up, quality_figures


@click.command("protect")
@click.argument("file", type=TABLE)
@click.argument("methods", nargs=-1, required=True, metavar="METHOD...")
@with_source
@with_blocks
@click.option("--columns", multiple=True, metavar="COLUMNS",
              help="to work on, with commas; else those that a method is for")  # fmt: skip
@click.option("-o", "--out", type=NEW_FILE, required=True, help="CSV or Parquet file to write")
@click.option("--shuffle", is_flag=True, help="write the rows in a random order")
@click.option("--excel-safe", is_flag=True, help="quote values that a spreadsheet would run")
@click.option("--seed", type=int, help="repeats the draws, for experiments: NOT PRIVATE")
def protect(
    file: Path,
    methods: tuple[str, ...],
    source: Source,
    large: BlockOptions | None,
    columns: tuple[str, ...],
    out: Path,
    shuffle: bool,
    excel_safe: bool,
    seed: int | None,
) -> None:
    """Mask the records of FILE by METHOD, as "ola(k=10, suppression=0.05)", and write them to OUT.

    Several methods are applied in order. Identifiers are dropped. A card beside OUT
    (OUT.veil.json) says what was done, what is proved, and whether by a seed; it has no value of
    the table. Which row was which is written nowhere; the rows keep their order, which is a link
    for whoever knows that of FILE, unless --shuffle is given. With --blocks FILE need not fit into
    memory, and may be a folder of files with the same columns; OUT is then a folder, too.
    """
    if out.resolve() == file.resolve():
        raise InputError("The output would replace the input; name another file.")
    if large is not None:
        refuse(large, shuffle=shuffle)
        _by_blocks(large, file, methods, source, listed(columns) or None, out, excel_safe, seed)
        return
    require_writable(out)
    size = file.stat().st_size if file.is_file() else 0
    with progress_bar() as report:
        table = opened(source, file, lambda done: report(f"Reading {file.name}", done, size))
        report("Protecting", 0, 0)
        release = protected(table, list(methods), listed(columns) or None, seed)
        report("Measuring", 0, 0)
        quality = quality_figures(table, release)
        report("Writing, and counting what is written", 0, 0)
        save(release, out, excel_safe=excel_safe, shuffle=shuffle, quality=quality)
    _say(release, len(release), out)
    if not shuffle and release.rows is not None:
        stderr().print("The rows are in the order of the original; --shuffle gives that up.")


def _by_blocks(
    large: BlockOptions,
    file: Path,
    methods: tuple[str, ...],
    source: Source,
    columns: tuple[str, ...] | None,
    out: Path,
    excel_safe: bool,
    seed: int | None,
) -> None:
    if len(methods) > 1:
        raise InputError("Block by block one method is applied; apply the next to what it writes.")
    with progress_bar() as report, large.opened(file, source, report=report) as blocks:
        made = protect_blocks(blocks, methods[0], out, columns, seed, excel_safe=excel_safe)
    _say(made, made.rows, out)
    stderr().print("The rows are in the order of the original.")


def _say(release: Release | Written, rows: int, out: Path) -> None:
    notes, claim = stderr(), release.guarantee
    removed = f", {release.suppressed:,} removed" if release.suppressed else ""
    notes.print(f"{out}: {count_of(rows, 'row')}{removed}.", markup=False)
    notes.print(f"{escape(release.method)}: {escape(str(claim))}.")
    if claim.caveat:
        notes.print(f"[yellow]{escape(claim.caveat)}[/yellow]")
    if release.levels:
        told = ", ".join(f"{name} {level}" for name, level in release.levels.items())
        notes.print(f"Levels: {escape(told)}.")
    for line in format_given_up(release.given_up):
        notes.print(f"[yellow]{escape(line)}[/yellow]")
    if release.seeded:
        notes.print(f"[yellow]{SEEDED}[/yellow]")
    notes.print(f"{card_of(out)}", markup=False)
