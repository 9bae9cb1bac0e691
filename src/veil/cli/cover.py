"""``veil cover``: build tables of cover groups, and see what would be sent."""

import re
import shlex
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from veil.cli.commands import Commands
from veil.cli.results import FAR
from veil.cli.terminal import NEW, progress_bar, stdout
from veil.core.errors import InputError
from veil.core.formatting import bits_of, count_of, printable
from veil.cover.builder import CELL, MOST_TRACKS, TRACKS, WORDS, build
from veil.cover.catalogue import load, rebuild
from veil.cover.popularity import POPULARITIES, Popularity
from veil.cover.table import Table, TableMatch
from veil.cover.universe import BUILT_IN, PARTS, Part, Universe, read_universe
from veil.proxy.ledger.ledger import Ledger, has_ledger
from veil.search.pipeline import check_query

_SHOWN = 3  # texts of a cell


@click.group(cls=Commands)
def cover() -> None:
    """Build tables of cover groups, and see what would be sent."""


@cover.command("build")
@click.argument("source", required=False)
@click.option("--from", "given", metavar="SOURCE", help="the same as SOURCE")
@click.option(
    "--part",
    type=click.Choice(PARTS),
    help="what of a collection: passages (default), titles, queries or log",
)
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="share of the texts that is taken, evenly",
)
@click.option(
    "--tracks",
    type=click.IntRange(1, MOST_TRACKS),
    default=TRACKS,
    show_default=True,
    help="texts in a group: requests that stand for one query",
)
@click.option(
    "--cell",
    type=click.IntRange(1, 1_000_000),
    default=CELL,
    show_default=True,
    help="texts of the universe behind one of them; more hide more and find less",
)
@click.option(
    "--words",
    type=click.IntRange(0, 1_000),
    default=WORDS,
    show_default=True,
    help="words in one of them; 0 for the most typical text itself",
)
@click.option(
    "--popularity",
    type=click.Choice(POPULARITIES),
    help="how often a text is asked: by the counts of SOURCE, or by public frequencies of its"
    " words  [default: words for icd10cm and wordnet, else counts]",
)
@click.option(
    "--encoder",
    default="minilm",
    show_default=True,
    help="local model that tells which texts are near",
)
@click.option(
    "--queries",
    type=click.IntRange(1),
    metavar="N",
    help="plausible queries that the risk is told for  [default: the texts]",
)
@click.option(
    "--out",
    type=NEW,
    help="folder to write  [default: the cache for icd10cm and wordnet, else ./NAME-cover]",
)
@click.option(
    "--public",
    is_flag=True,
    help="the texts are public though some of them are queries of your ledger",
)
def build_(
    source: str | None,
    given: str | None,
    part: Part | None,
    sample: float,
    tracks: int,
    cell: int,
    words: int,
    popularity: Popularity | None,
    encoder: str,
    queries: int | None,
    out: Path | None,
    public: bool,
) -> None:
    """Build a table from SOURCE: icd10cm, wordnet, a collection, irds:ID, or a file of queries.

    The texts of the table are what the engine will see: they must be public. Best are texts that
    look like what the engine holds: a catalogue, titles, a sample of its passages.
    """
    name = _one(source, given)
    usual_texts = name in BUILT_IN and part is None and sample == 1 and popularity != "counts"
    kept = out is None and usual_texts and encoder == "minilm"
    with progress_bar() as report:
        if kept:
            table = rebuild(name, tracks, cell, words, report)
        else:
            out = out or Path(re.sub(r"[^\w.-]", "-", Path(name).name) + "-cover")
            if out.exists():
                raise InputError(f"There is a {out} already; delete it, or name another (--out).")
            universe = read_universe(name, part, sample, report, popularity)
            if name not in BUILT_IN and not public:
                _require_not_own(universe)
            table = build(universe, tracks, cell, words, encoder, report=report)
            table.save(out)
    _show_facts(stdout(), table, queries)
    usual = {"tracks": (tracks, TRACKS), "cell": (cell, CELL), "words": (words, WORDS)}
    named = [f"{key}={value}" for key, (value, default) in usual.items() if value != default]
    where = name if out is None else str(out)
    spec = ", ".join(
        [f"table={where if _plain(where) else repr(where)}", *(named if kept else ())]
    )
    told = f"Search with it: veil search --mechanism {shlex.quote(f'cover({spec})')} ..."
    stdout().print(told, markup=False, soft_wrap=True)


def _one(source: str | None, given: str | None) -> str:
    if (source is None) == (given is None):
        raise InputError("Name one source of texts: icd10cm, wordnet, a collection or a file.")
    return source or given or ""  # an empty name is told when it is opened


def _plain(text: str) -> bool:
    return re.fullmatch(r"[\w./~-]+", text) is not None


def _require_not_own(universe: Universe) -> None:
    """Refuse a universe of the user's own queries: it would be sent, cell by cell."""
    if not has_ledger():
        return
    with Ledger() as ledger:
        found = ledger.holds(universe.texts)
    if found:
        raise InputError(
            f"{count_of(found, 'text')} of the universe {'is' if found == 1 else 'are'} in your"
            " ledger: it would publish what you searched for. Take texts of others, or say that"
            " these are public (--public)."
        )


def _show_facts(console: Console, table: Table, queries: int | None) -> None:
    console.print(
        f"[bold]{escape(printable(table.universe))}[/bold]: {count_of(len(table), 'text')} in"
        f" {count_of(table.k, 'track')} and {count_of(table.L, 'group')};"
        f" {count_of(table.cell, 'text')} or a few more behind each of the texts of a group."
    )
    if not table.weighed:
        told = "No counts were found, or all are equal: there is one band of popularity."
    elif table.popularity == "words":
        told = (
            "How often a text is asked was estimated from the frequencies of its words:"
            f" {count_of(table.bands, 'band')} of popularity, with wider groups in the popular"
            " half."
        )
    else:
        told = (
            f"Counts were found: the texts are in {count_of(table.bands, 'band')} of popularity."
        )
    console.print(told)
    console.print(
        f"Guarantee: the engine sees one of {count_of(table.L, 'group')}, at most"
        f" {bits_of(table.bits)} for each query; the same query again adds nothing."
    )
    console.print(_risk(table, queries))


def _risk(table: Table, queries: int | None) -> str:
    """Say how often an engine is right, and what it is taken to believe."""
    if queries is None:
        return str(table.odds())
    return (
        f"If one of {queries:,} equally likely queries was asked, an engine that knows everything"
        f" is right within ten guesses in at most {100 * table.risk(queries):.3g} % of the cases."
    )


@cover.command("show")
@click.argument("table")
@click.argument("query")
def show(table: str, query: str) -> None:
    """Show the group of TABLE that would be sent for QUERY (- reads it); nothing is sent."""
    text = check_query(sys.stdin.readline().strip() if query == "-" else query)
    with progress_bar() as report:
        opened = load(table, report=report)
        report("looking the query up", 0, 0)
        found = opened.locate([text])[0]
    console = stdout()
    _show_facts(console, opened, None)
    console.print(
        f"\n[bold]What an engine would see[/bold]: group {found.address + 1:,} of {opened.L:,},"
        f" {count_of(opened.k, 'text')}"
    )
    grid = Grid(box=None, padding=(0, 1), show_header=True)
    for name, style in (("track", "dim"), ("text", ""), ("who else would send the same", "dim")):
        grid.add_column(name, style=style, overflow="fold", justify="right" if name == "track"
                        else "left")  # fmt: skip
    for track, sent in enumerate(opened.group(found.address)):
        others = [opened.texts[i] for i in opened.members(found.address, track)]
        more = f"; {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        mark = "*" if console.is_terminal and track == found.track else ""
        grid.add_row(
            f"{mark}{track + 1}",
            escape(printable(sent)),
            escape(printable("; ".join(_cut(each) for each in others[:_SHOWN]) + more)),
        )
    console.print(grid)
    _show_place(console, opened, found)


def _show_place(console: Console, table: Table, found: TableMatch) -> None:
    """Say where the query itself is: a secret, for the person alone."""
    if not console.is_terminal:
        console.print("Which of the tracks is yours is shown on a terminal only.")
        return
    nearest = escape(printable(_cut(table.texts[found.nearest])))
    console.print(
        f"* Yours is track {found.track + 1}, by the text [bold]{nearest}[/bold] (cosine"
        f" {found.cosine:.2f}); all {table.k} are sent, so that nobody else can tell."
    )
    if found.cosine < FAR:
        console.print(
            "[yellow]That is far: the table knows little of what you ask, perhaps it is in another"
            " language, and results may be poor. It hides you all the same.[/yellow]"
        )


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " ..."
