"""``veil tables count``: how many there are of each combination, with small counts protected."""

from math import isnan
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.tables._blocks import TABLE, BlockOptions, refuse, with_blocks
from veil.cli.tables._roles import with_source
from veil.cli.terminal import NEW_FILE, fits, stderr, stdout
from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.tables.attack import attack
from veil.tables.cells.audit import Audit, require_csv, rows, write_cells
from veil.tables.cells.audit import audit as audited
from veil.tables.cells.cells import Cells, tabulate
from veil.tables.cells.release import CellRelease, protect_cells
from veil.tables.files import SEEDED
from veil.tables.measures.utility import utility
from veil.tables.schema import Source


@click.command("count")
@click.argument("file", type=TABLE)
@click.argument("columns", nargs=-1, required=True)
@with_source
@with_blocks
@click.option("--method", "methods", multiple=True, required=True,
              help='as "suppress(threshold=5)", round, cta; repeat it: after rollup')  # fmt: skip
@click.option("--value", help="numeric column to add up, instead of counting rows")
@click.option("--unit", help="column that says whose a row is, where one has several")
@click.option("--nested", multiple=True, help="column whose hierarchy gets subtotals")
@click.option("--unweighted", is_flag=True, help="count rows, although there are weights")
@click.option("--audit", is_flag=True, help="say what a reader can conclude of each cell")
@click.option("-o", "--out", type=NEW_FILE, help="write a CSV file there, with a card beside it")
@click.option("--excel-safe", is_flag=True, help="quote labels that a spreadsheet would run")
@click.option("--seed", type=int, help="repeats the draws, for experiments: NOT PRIVATE")
def count(
    file: Path,
    columns: tuple[str, ...],
    source: Source,
    large: BlockOptions | None,
    methods: tuple[str, ...],
    value: str | None,
    unit: str | None,
    nested: tuple[str, ...],
    unweighted: bool,
    audit: bool,
    out: Path | None,
    excel_safe: bool,
    seed: int | None,
) -> None:
    """Count the rows of FILE for each combination of COLUMNS, and publish that protected.

    A suppressed cell is empty, a sum has a star for what it adds up. Sensitive cells are published
    by no method but round, rollup and sample, which keep none back.
    """
    if out is not None:
        require_csv(out)
        if out.resolve() == file.resolve():
            raise InputError("The output would replace the input; name another file.")
    if large is not None:
        refuse(large, value=value, unit=unit)
        with large.opened(file, source) as blocks:
            cells = blocks.tabulate(columns, nested=nested)
    else:
        table, _ = source.opened(file)  # it warns of columns, most of which are not counted
        cells = tabulate(table, columns, value, unit=unit, nested=nested, weighted=not unweighted)
    release = protect_cells(cells, list(methods), seed)
    found = audited(release) if audit else None
    if out is None:
        _show(release, found)
    else:
        write_cells(release, out, audited=found, excel_safe=excel_safe)
    _note(release, found, utility(cells, release))
    if audit and cells.contributions is not None:
        _note_contributors(cells, release)


def _show(release: CellRelease, found: Audit | None) -> None:
    """Print a grid where there are two axes and it has room, else a line for each cell."""
    console = stdout()
    if len(release.axes) == 2:
        across = release.axes[1].labels
        grid = Table(escape(release.by[0]), *map(escape, across))
        texts = [_text(numbers) for _, numbers in rows(release, found)]
        for at, label in enumerate(release.axes[0].labels):
            grid.add_row(escape(label), *texts[at * len(across) : (at + 1) * len(across)])
        if fits(console, grid):
            console.print(grid)
            return
    lines = Table(*map(escape, release.by), "count" if release.whole else "value")
    for labels, numbers in rows(release, found):
        lines.add_row(*map(escape, labels), _text(numbers))
    console.print(lines)


def _text(numbers: tuple[float, ...]) -> str:
    shown = "x" if isnan(numbers[0]) else f"{numbers[0]:,.10g}"
    if len(numbers) == 1 or numbers[1] == numbers[2] == numbers[0]:
        return shown
    return f"{shown} ({numbers[1]:,.10g} to {numbers[2]:,.10g})"


def _note_contributors(cells: Cells, release: CellRelease) -> None:
    """Say what those learn of others who know what they gave to a sum themselves."""
    details = attack(cells, release, "intervals").details
    if "contributors" not in details:
        return
    exact, tried, left = (
        int(str(details.get(key, 0)))
        for key in ("exact_to_contributors", "contributors", "contributors_not_tried")
    )
    stderr().print(
        f"{count_of(tried, 'large contributor')} to what is suppressed, who know their own"
        f" amounts, can work out {count_of(exact, 'sensitive cell')} of others exactly."
        if exact
        else f"No sensitive cell of others can be worked out exactly by {tried:,} large"
        " contributors to what is suppressed, who know their own amounts."
    )
    if left:
        stderr().print(f"{left:,} more contributors were not tried.")


def _note(release: CellRelease, found: Audit | None, kept: float) -> None:
    notes = stderr()
    cells, hidden = count_of(release.margins.size, "cell"), int(release.suppressed.sum())
    notes.print(
        f"{cells} with sums, {hidden:,} suppressed, by {escape(release.method)};"
        f" {escape(str(release.guarantee))}. {escape(release.guarantee.caveat)}"
    )
    notes.print(f"Utility {kept:.4f} of 1: less the share that is suppressed or changed.")
    if found is not None:
        open_ = found.known & (found.low != release.margins)
        told = (
            f"A reader can work out {count_of(int(open_.sum()), 'cell')} that it does not state."
        )
        notes.print(f"{told} {escape(found.caveat)}".strip())
    if release.seeded:
        notes.print(f"[yellow]{SEEDED}[/yellow]")
