"""Print what a verb returned: a reply, a release, an outcome, or figures by name."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import fits, stderr, stdout
from veil.core.errors import ParameterError
from veil.core.estimate import Estimate, bootstrap
from veil.core.formatting import escaped_json, printable
from veil.core.outcome import Outcome
from veil.core.types import Release
from veil.core.verb import Reply, Sheet
from veil.measures.risk import ATTACKERS, chance, risk

_FIGURE = 12  # characters of a cell that is never broken


def show(result: object, *, as_json: bool = False) -> None:
    """Print the result of a verb, and exit with its code."""
    if isinstance(result, Reply):
        _show_reply(result, as_json=as_json)
    elif isinstance(result, Outcome):
        _show_outcome(result)
    elif isinstance(result, Release):
        _show_release(result)
    elif isinstance(result, Mapping):
        _show_figures(result)
    elif isinstance(result, str):
        click.echo(result)
    elif result is not None:  # it may contain an original
        raise ParameterError(
            "A verb must return a Reply, a release, an outcome, figures by name, a text or None."
            f" Got {type(result).__name__} instead."
        )


def _show_reply(reply: Reply, *, as_json: bool) -> None:
    if as_json:
        text = json.dumps(reply.data, ensure_ascii=False, indent=1, default=str)
        click.echo(escaped_json(text, sys.stdout.encoding or "utf-8"))
    else:
        for line in reply.lines:
            _show_sheet(line) if isinstance(line, Sheet) else click.echo(line)
    notes = stderr()
    for note in reply.notes:
        notes.print(note, markup=False)
    for caution in reply.cautions:
        notes.print(f"[yellow]{escape(caution)}[/yellow]")
    if reply.code:
        raise click.exceptions.Exit(reply.code)


def _show_sheet(sheet: Sheet) -> None:
    """Print a table; on a narrow screen as several tables, some columns, or a line per cell."""
    console = stdout()
    if sheet.title:
        console.print(f"[italic]{escape(sheet.title)}[/italic]")
    heads = [printable(head) for head in sheet.columns]
    table = Table(*map(escape, heads))
    rows = [[printable(cell) for cell in row] for row in sheet.rows]
    for row in rows:
        table.add_row(*map(escape, row))
    if fits(console, table):
        console.print(table)
        return
    if sheet.labels:
        _show_parts(heads, rows, sheet.labels)
    elif sheet.narrow:
        console.print(_narrow_table(sheet, rows))
        return
    for row in rows:
        for head, cell in zip(heads, row, strict=True):
            console.print(f"{escape(head)}: {escape(cell)}", soft_wrap=True)
        console.print()


def _show_parts(heads: Sequence[str], rows: Sequence[Sequence[str]], labels: int) -> None:
    """Print a wide table as several tables, each with the labels and as many columns as fit."""
    console = stdout()
    rest = range(labels, len(heads))
    while rest:
        for count in range(len(rest), 0, -1):
            shown = [*range(labels), *rest[:count]]
            table = Table(*(escape(heads[i]) for i in shown))
            for row in rows:
                table.add_row(*(escape(row[i]) for i in shown))
            if fits(console, table):
                break
        console.print(table)
        rest = rest[count:]


def _narrow_table(sheet: Sheet, rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of the `narrow` columns, which wraps long texts but no figures."""
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    places = [sheet.columns.index(name) for name in sheet.narrow]
    for place in places:
        figures = all(len(row[place]) <= _FIGURE for row in rows)
        head = escape(printable(sheet.columns[place]))
        heads = head.replace(" ", "\n") if figures and len(head) > _FIGURE - 4 else head
        table.add_column(heads, no_wrap=figures, overflow="fold")
    for row in rows:
        table.add_row(*(escape(row[place]) for place in places))
    return table


def _show_release(release: Release) -> None:
    notes, cost = stderr(), release.cost
    notes.print(f"{escape(release.mechanism)}: {escape(str(cost))}.")
    if cost.caveat:
        notes.print(f"[yellow]{escape(cost.caveat)}[/yellow]")
    if release.seeded:
        notes.print("[yellow]Reproducible because of a seed: NOT PRIVATE.[/yellow]")


def _show_outcome(outcome: Outcome) -> None:
    table = Table("measure", "risk", "95 % interval", "blind guess")
    for attacker in ATTACKERS:
        success = risk(
            outcome.ranks,
            attacker,
            candidates=outcome.candidates,
            groups=outcome.subjects,
            ties=outcome.ties,
        )
        blind = chance(
            outcome.candidates,
            attacker,
            ranks=outcome.ranks,
            prior=outcome.prior,
            prior_ties=outcome.prior_ties,
        )
        table.add_row(attacker, f"{float(success):.3f}", _interval(success), f"{blind:.4f}")
    stdout().print(table)


def _show_figures(figures: Mapping[str, Any]) -> None:
    table = Table("measure", "mean", "95 % interval", "n")
    for name, values in figures.items():
        numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            table.add_row(escape(name), "-", "", "0")
            continue
        mean = bootstrap(numbers)
        table.add_row(escape(name), f"{float(mean):.4g}", _interval(mean), f"{mean.n:,}")
    stdout().print(table)


def _interval(estimate: Estimate) -> str:
    return f"{estimate.low:.4g} to {estimate.high:.4g}"
