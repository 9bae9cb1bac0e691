"""``veil ledger``: what was released when, without the queries; and how to forget it."""

import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from veil.cli.commands import Commands
from veil.cli.terminal import NEW, fits, stderr, stdout
from veil.core.errors import InputError
from veil.core.formatting import bits_of, count_of, number_of
from veil.data.files import whole_file
from veil.data.releases import CsvWriter
from veil.proxy.ledger.ledger import Ledger, forget_all
from veil.proxy.settings import Release, brief
from veil.search.pipeline import MAX_QUERY

_LARGEST = 2**62  # number of an entry; none comes near
_PAGE = 500  # entries read at a time
_COLUMNS = (
    "number", "made", "last", "asked", "mechanism", "words", "shared", "spent", "bits",
    "chosen", "variants",
)  # fmt: skip
_ASKED = "Forget? What was sent stays sent"
_ASKED_ALL = f"{_ASKED}, and nothing will know of it or of what was spent"
_NO_ENTRY = "The ledger has no such entry; nothing was forgotten."
_GONE = (
    "The ledger and its key are gone. The next one begins anew: it will not know what was released"
    " and spent before."
)


@click.group(cls=Commands)
def ledger() -> None:
    """Show, export or forget what searches released.

    The queries themselves are not in the ledger.
    """


@ledger.command()
@click.option(
    "--count",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="entries to show",
)
@click.option("--variants", is_flag=True, help="also show what was sent")
def show(count: int, variants: bool) -> None:
    """Show the newest entries, and what was spent in the last 24 hours."""
    console = stdout()
    with Ledger() as book:
        found = book.releases(count)
        state, begun = book.budget(), book.begun
    if not found:
        console.print("The ledger is empty: nothing was released.")
    else:
        _show(console, found, variants=variants)
    console.print(
        f"Spent in the last 24 hours: {state.spent:,.0f} (epsilon x words x variants newly drawn)."
    )
    console.print(
        f"Leaked in the last 24 hours: {bits_of(state.bits)} (each query whose group of cover was"
        " sent, once)."
    )
    console.print(
        f"The ledger begins at {begun:%Y-%m-%d %H:%M}; what was released before, it does not know."
    )


def _show(console: Console, found: tuple[Release, ...], *, variants: bool) -> None:
    table = Table(box=None, padding=(0, 1))
    for name in ("no.", "made", "asked", "variants", "words", "shared", "spent", "bits"):
        table.add_column(name, justify="left" if name == "made" else "right")
    table.add_column("mechanism", overflow="fold")
    for one in found:
        table.add_row(
            str(one.number),
            f"{one.made:%Y-%m-%d %H:%M}",
            str(one.asked),
            str(len(one.variants)),
            str(one.words),
            str(one.shared),
            f"{one.spent:,.0f}" if math.isfinite(one.spent) else "no bound",
            number_of(round(one.bits, 2)) if math.isfinite(one.bits) else "no bound",
            escape(brief(one.mechanism) + (", passed a bound" if one.chosen else "")),
        )
        if variants:
            for text in one.variants:
                table.add_row(*[""] * 8, f"[dim]{escape(text)}[/dim]")
    if fits(console, table):
        console.print(table)
    else:
        _show_narrow(console, found, variants=variants)


def _show_narrow(console: Console, found: tuple[Release, ...], *, variants: bool) -> None:
    """Put one below the other what has no room side by side."""
    for one in found:
        spent = f"{one.spent:,.0f}" if math.isfinite(one.spent) else "no bound"
        leaked = bits_of(one.bits) if math.isfinite(one.bits) else "bits without bound"
        chosen = ", passed a bound" if one.chosen else ""
        console.print(
            f"no. {one.number}, made {one.made:%Y-%m-%d %H:%M}, asked {one.asked},"
            f" {count_of(len(one.variants), 'variant')}, {count_of(one.words, 'word')},"
            f" {one.shared} shared, spent {spent} and {leaked},"
            f" {escape(brief(one.mechanism))}{chosen}"
        )
        for text in one.variants if variants else ():
            console.print(Padding(f"[dim]{escape(text)}[/dim]", (0, 0, 0, 2), expand=False))


@ledger.command()
@click.argument("output", type=NEW)
def export(output: Path) -> None:
    """Write all entries to OUTPUT (.csv or .jsonl), for its owner alone; - prints JSON lines."""
    with Ledger() as book:
        if str(output) == "-":
            for one in _all(book):
                sys.stdout.write(_line(one) + "\n")
            return
        if output.suffix not in (".csv", ".jsonl"):
            raise InputError("The file to write must end in .csv or .jsonl.")
        as_csv = output.suffix == ".csv"
        lines = (_csv(_values(one)) if as_csv else f"{_line(one)}\n" for one in _all(book))
        with whole_file(output, private=True) as part, part.open("w", encoding="utf-8") as file:
            file.write(_csv(_COLUMNS) if as_csv else "")
            count = sum(bool(file.write(line)) for line in lines)
    stderr().print(f"{count_of(count, 'release')} written to {output}", markup=False)


@ledger.command()
@click.argument("number", type=click.IntRange(1), required=False)
@click.option("--query", is_flag=True, help="the entries of a query, read from standard input")
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d"]),
    help="entries last asked with before a day, as 2026-11-16",
)
@click.option("--all", "everything", is_flag=True, help="the whole ledger and its key")
@click.option("--yes", is_flag=True, help="do not ask")
def forget(
    number: int | None, query: bool, before: datetime | None, everything: bool, yes: bool
) -> None:
    """Forget the entry NUMBER, or those that an option names.

    What was sent stays sent. A query that is forgotten is drawn anew when it is asked again, which
    tells the engine more and costs the budget again. What was spent stays spent, unless --all:
    that starts anew, also where the ledger is damaged, empty or gone, or its key is. The new one
    knows nothing of what was released and spent before.
    """
    if sum((number is not None, query, before is not None, everything)) != 1:
        raise InputError("Name one of: an entry's NUMBER, --query, --before or --all.")
    if query and not yes:
        raise InputError("Standard input holds the query, and cannot confirm; add --yes.")
    _require(number)
    if not yes and not _confirmed(_ASKED_ALL if everything else _ASKED):
        raise click.Abort
    if everything:
        click.echo(_GONE if forget_all() else "There was no ledger.")
        return
    with Ledger() as book:
        if query:
            count = book.forget_query(sys.stdin.read(MAX_QUERY + 1).strip())
        elif before is not None:
            count = book.forget_before(before.astimezone())
        else:
            count = int(book.forget(number or 0))
    if not count and before is None:
        raise InputError(_NO_ENTRY)
    click.echo(f"{count_of(count, 'release')} forgotten.")


def _require(number: int | None) -> None:
    """Say that there is no such entry before anybody is asked whether to forget it."""
    if number is None:
        return
    with Ledger() as book:
        found = book.releases(1, min(number, _LARGEST) + 1)
    if not found or found[0].number != number:
        raise InputError(_NO_ENTRY)


def _confirmed(question: str) -> bool:
    """Ask; who is no terminal may answer by a line, and else must say --yes."""
    if sys.stdin.isatty():
        return click.confirm(question, err=True)
    answer = sys.stdin.readline(100).strip().casefold()
    if not answer:
        raise InputError("There is no terminal to ask at; add --yes. Nothing was forgotten.")
    return answer in ("y", "yes")


def _all(book: Ledger) -> Iterator[Release]:
    before: int | None = None
    while found := book.releases(_PAGE, before):
        yield from found
        before = found[-1].number


def _values(one: Release) -> list[object]:
    return [
        one.number,
        one.made.isoformat(timespec="seconds"),
        one.last.isoformat(timespec="seconds"),
        one.asked,
        one.mechanism,
        one.words,
        one.shared,
        one.spent if math.isfinite(one.spent) else "",
        one.bits if math.isfinite(one.bits) else "",
        one.chosen,
        json.dumps(one.variants, ensure_ascii=False),
    ]


def _csv(values: Sequence[object]) -> str:
    out = io.StringIO()
    CsvWriter(out).writerow(values)
    return out.getvalue()


def _line(one: Release) -> str:
    values: dict[str, object] = dict(zip(_COLUMNS, _values(one), strict=True))
    values["spent"] = one.spent if math.isfinite(one.spent) else None
    values["bits"] = one.bits if math.isfinite(one.bits) else None
    values["variants"] = list(one.variants)
    return json.dumps(values, ensure_ascii=False)
