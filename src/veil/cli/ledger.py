"""``veil ledger``: show, export or forget releases; the ledger does not contain the queries."""

import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:  # the ledger is slow to load, and help needs none of it
    from veil.proxy.ledger.ledger import Ledger
    from veil.proxy.settings import Release

_LARGEST = 2**62  # above every entry number
_PAGE = 500  # entries read at a time
_COLUMNS = (
    "number", "made", "last", "asked", "mechanism", "words", "shared", "spent", "bits",
    "chosen", "variants",
)  # fmt: skip
_ASKED = "Forget? This does not undo what was sent"
_ASKED_ALL = f"{_ASKED}, and deletes the record of all releases and spending"
_NO_ENTRY = "The ledger has no such entry. Nothing was forgotten."
_GONE = (
    "The ledger and its key were deleted. The next ledger starts empty, without earlier releases"
    " and spending."
)


@click.group(cls=Commands)
def ledger() -> None:
    """Show, export or forget what searches released.

    The ledger does not contain the queries.
    """


@ledger.command()
@click.option(
    "--count",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Number of entries to show.",
)
@click.option("--variants", is_flag=True, help="Also show what was sent.")
def show(count: int, variants: bool) -> None:
    """Show the newest entries and the budget spent in the last 24 hours."""
    from veil.proxy.ledger.ledger import Ledger

    console = stdout()
    with Ledger() as book:
        releases = book.releases(count)
        state, begun = book.budget(), book.begun
    if not releases:
        console.print("The ledger is empty.")
    else:
        _show(console, releases, variants=variants)
    console.print(
        f"Spent in the last 24 hours: {state.spent:,.0f} (epsilon x words x variants newly drawn)."
    )
    console.print(
        f"Leaked in the last 24 hours: {bits_of(state.bits)} (each query whose cover group was"
        " sent counts once)."
    )
    console.print(
        f"The ledger starts at {begun:%Y-%m-%d %H:%M}. It does not contain earlier releases."
    )


def _show(console: Console, releases: tuple["Release", ...], *, variants: bool) -> None:
    from veil.proxy.settings import brief

    table = Table(box=None, padding=(0, 1))
    for name in ("no.", "made", "asked", "variants", "words", "shared", "spent", "bits"):
        table.add_column(name, justify="left" if name == "made" else "right")
    table.add_column("mechanism", overflow="fold")
    for release in releases:
        table.add_row(
            str(release.number),
            f"{release.made:%Y-%m-%d %H:%M}",
            str(release.asked),
            str(len(release.variants)),
            str(release.words),
            str(release.shared),
            f"{release.spent:,.0f}" if math.isfinite(release.spent) else "no bound",
            number_of(round(release.bits, 2)) if math.isfinite(release.bits) else "no bound",
            escape(brief(release.mechanism) + (", passed a bound" if release.chosen else "")),
        )
        if variants:
            for text in release.variants:
                table.add_row(*[""] * 8, f"[dim]{escape(text)}[/dim]")
    if fits(console, table):
        console.print(table)
    else:
        _show_narrow(console, releases, variants=variants)


def _show_narrow(console: Console, releases: tuple["Release", ...], *, variants: bool) -> None:
    """Print each entry on its own lines when the screen is too narrow for a table."""
    from veil.proxy.settings import brief

    for release in releases:
        spent = f"{release.spent:,.0f}" if math.isfinite(release.spent) else "no bound"
        leaked = bits_of(release.bits) if math.isfinite(release.bits) else "bits without bound"
        bound_note = ", passed a bound" if release.chosen else ""
        console.print(
            f"no. {release.number}, made {release.made:%Y-%m-%d %H:%M}, asked {release.asked},"
            f" {count_of(len(release.variants), 'variant')}, {count_of(release.words, 'word')},"
            f" {release.shared} shared, spent {spent} and {leaked},"
            f" {escape(brief(release.mechanism))}{bound_note}"
        )
        for text in release.variants if variants else ():
            console.print(Padding(f"[dim]{escape(text)}[/dim]", (0, 0, 0, 2), expand=False))


@ledger.command()
@click.argument("output", type=NEW)
def export(output: Path) -> None:
    """Write all entries to OUTPUT (.csv or .jsonl), or print them as JSON lines (-).

    Only you can read the file.
    """
    from veil.proxy.ledger.ledger import Ledger

    with Ledger() as book:
        if str(output) == "-":
            for release in _all(book):
                sys.stdout.write(_line(release) + "\n")
            return
        if output.suffix not in (".csv", ".jsonl"):
            raise InputError("OUTPUT must end in .csv or .jsonl.")
        as_csv = output.suffix == ".csv"
        lines = (
            _csv(_values(release)) if as_csv else f"{_line(release)}\n" for release in _all(book)
        )
        with whole_file(output, private=True) as part, part.open("w", encoding="utf-8") as file:
            file.write(_csv(_COLUMNS) if as_csv else "")
            count = sum(bool(file.write(line)) for line in lines)
    stderr().print(f"{count_of(count, 'release')} written to {output}", markup=False)


@ledger.command()
@click.argument("number", type=click.IntRange(1), required=False)
@click.option(
    "--query", is_flag=True, help="Forget the entries of a query, read from standard input."
)
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Forget entries that were last used before a date, such as 2026-11-16.",
)
@click.option("--all", "everything", is_flag=True, help="Forget the whole ledger and its key.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def forget(
    number: int | None, query: bool, before: datetime | None, everything: bool, yes: bool
) -> None:
    """Forget the entry NUMBER, or the entries that an option selects.

    This does not undo what was sent. If you search for a forgotten query again, new variants are
    drawn, which reveals more to the engine and costs budget again. Spent budget stays spent,
    unless you use --all: that starts a new ledger, also if the ledger or its key is damaged, empty
    or missing. The new ledger does not contain earlier releases and spending.
    """
    from veil.proxy.ledger.ledger import Ledger, forget_all
    from veil.search.pipeline import MAX_QUERY

    if sum((number is not None, query, before is not None, everything)) != 1:
        raise InputError("Exactly one of NUMBER, --query, --before and --all is required.")
    if query and not yes:
        raise InputError("--query reads standard input, which cannot also confirm. Add --yes.")
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
    """Raise an error for a missing entry before asking for confirmation."""
    from veil.proxy.ledger.ledger import Ledger

    if number is None:
        return
    with Ledger() as book:
        entries = book.releases(1, min(number, _LARGEST) + 1)
    if not entries or entries[0].number != number:
        raise InputError(_NO_ENTRY)


def _confirmed(question: str) -> bool:
    """Ask for confirmation; without a terminal, read a line of standard input."""
    if sys.stdin.isatty():
        return click.confirm(question, err=True)
    answer = sys.stdin.readline(100).strip().casefold()
    if not answer:
        raise InputError(
            "Cannot ask for confirmation without a terminal. Nothing was forgotten. Add --yes."
        )
    return answer in ("y", "yes")


def _all(book: "Ledger") -> "Iterator[Release]":
    before: int | None = None
    while page := book.releases(_PAGE, before):
        yield from page
        before = page[-1].number


def _values(release: "Release") -> list[object]:
    return [
        release.number,
        release.made.isoformat(timespec="seconds"),
        release.last.isoformat(timespec="seconds"),
        release.asked,
        release.mechanism,
        release.words,
        release.shared,
        release.spent if math.isfinite(release.spent) else "",
        release.bits if math.isfinite(release.bits) else "",
        release.chosen,
        json.dumps(release.variants, ensure_ascii=False),
    ]


def _csv(values: Sequence[object]) -> str:
    out = io.StringIO()
    CsvWriter(out).writerow(values)
    return out.getvalue()


def _line(release: "Release") -> str:
    values: dict[str, object] = dict(zip(_COLUMNS, _values(release), strict=True))
    values["spent"] = release.spent if math.isfinite(release.spent) else None
    values["bits"] = release.bits if math.isfinite(release.bits) else None
    values["variants"] = list(release.variants)
    return json.dumps(values, ensure_ascii=False)
