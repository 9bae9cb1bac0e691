"""``veil cover``: build tables of cover groups, and show what would be sent."""

import re
import shlex
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from veil.cli.commands import Commands
from veil.cli.options import FAR
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

_SHOWN = 3  # texts of a bucket


@click.group(cls=Commands)
def cover() -> None:
    """Build tables of cover groups, and show what would be sent."""


@cover.command("build")
@click.argument("source", required=False)
@click.option("--from", "alias", metavar="SOURCE", help="Same as SOURCE.")
@click.option(
    "--part",
    type=click.Choice(PARTS),
    help="Part of a collection: passages (default), titles, queries or log.",
)
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of the texts to take, evenly spaced.",
)
@click.option(
    "--tracks",
    type=click.IntRange(1, MOST_TRACKS),
    default=TRACKS,
    show_default=True,
    help="Texts in a group: requests sent for one query.",
)
@click.option(
    "--cell",
    type=click.IntRange(1, 1_000_000),
    default=CELL,
    show_default=True,
    help="Candidate texts behind each text of a group. More hide better and find less.",
)
@click.option(
    "--words",
    type=click.IntRange(0, 1_000),
    default=WORDS,
    show_default=True,
    help="Words in each text of a group; 0: the most typical candidate text.",
)
@click.option(
    "--popularity",
    type=click.Choice(POPULARITIES),
    help="How often each text is searched for: by the counts in SOURCE, or by public word"
    " frequencies.  [default: words for icd10cm and wordnet, else counts]",
)
@click.option(
    "--encoder",
    default="minilm",
    show_default=True,
    help="Local model that measures which texts are similar.",
)
@click.option(
    "--queries",
    type=click.IntRange(1),
    metavar="N",
    help="Number of equally likely queries to report the risk for.  [default: the texts]",
)
@click.option(
    "--out",
    type=NEW,
    help="Folder to write.  [default: the cache for icd10cm and wordnet, else ./NAME-cover]",
)
@click.option(
    "--public",
    is_flag=True,
    help="Confirm that the texts are public, although some are queries in your ledger.",
)
def build_(
    source: str | None,
    alias: str | None,
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

    The engine will see the texts of the table, so they must be public. The best texts resemble
    the engine's documents: a catalogue, titles, a sample of passages.
    """
    name = _source_name(source, alias)
    usual_texts = name in BUILT_IN and part is None and sample == 1 and popularity != "counts"
    in_cache = out is None and usual_texts and encoder == "minilm"
    with progress_bar() as report:
        if in_cache:
            table = rebuild(name, tracks, cell, words, report)
        else:
            out = out or Path(re.sub(r"[^\w.-]", "-", Path(name).name) + "-cover")
            if out.exists():
                raise InputError(
                    f"Folder {out} already exists. Delete it or choose another with --out."
                )
            universe = read_universe(name, part, sample, report, popularity)
            if name not in BUILT_IN and not public:
                _require_not_own(universe)
            table = build(universe, tracks, cell, words, encoder, report=report)
            table.save(out)
    _show_facts(stdout(), table, queries)
    usual = {"tracks": (tracks, TRACKS), "cell": (cell, CELL), "words": (words, WORDS)}
    changed = [f"{key}={value}" for key, (value, default) in usual.items() if value != default]
    where = name if out is None else str(out)
    spec = ", ".join(
        [
            f"table={where if _needs_no_quotes(where) else repr(where)}",
            *(changed if in_cache else ()),
        ]
    )
    hint = f"Search with it: veil search --mechanism {shlex.quote(f'cover({spec})')} ..."
    stdout().print(hint, markup=False, soft_wrap=True)


def _source_name(source: str | None, alias: str | None) -> str:
    if (source is None) == (alias is None):
        raise InputError(
            "Exactly one source of texts is required: icd10cm, wordnet, a collection or a file."
        )
    return source or alias or ""  # an empty name is rejected when it is opened


def _needs_no_quotes(text: str) -> bool:
    return re.fullmatch(r"[\w./~-]+", text) is not None


def _require_not_own(universe: Universe) -> None:
    """Refuse candidate texts that are queries of the user: the table would publish them."""
    if not has_ledger():
        return
    with Ledger() as ledger:
        count = ledger.holds(universe.texts)
    if count:
        raise InputError(
            f"{count_of(count, 'text')} {'is a query' if count == 1 else 'are queries'} in your"
            " ledger, so the table would publish your searches. Use other texts, or add --public"
            " if these are public."
        )


def _show_facts(console: Console, table: Table, queries: int | None) -> None:
    console.print(
        f"[bold]{escape(printable(table.universe))}[/bold]: {count_of(len(table), 'text')} in"
        f" {count_of(table.k, 'topic')} and {count_of(table.L, 'group')};"
        f" {count_of(table.cell, 'text')} or a few more behind each text of a group."
    )
    if not table.weighed:
        message = "No counts, or all are equal: there is one popularity band."
    elif table.popularity == "words":
        message = (
            "Popularity was estimated from public word frequencies:"
            f" {count_of(table.bands, 'popularity band')}, with wider groups in the popular half."
        )
    else:
        message = f"The texts have counts: they are in {count_of(table.bands, 'popularity band')}."
    console.print(message)
    console.print(
        f"Guarantee: the engine sees one of {count_of(table.L, 'group')}, at most"
        f" {bits_of(table.bits)} per query. The same query again adds nothing."
    )
    console.print(_risk(table, queries))


def _risk(table: Table, queries: int | None) -> str:
    """Return how often an engine guesses the query, and the prior that this assumes."""
    if queries is None:
        return str(table.odds())
    return (
        f"If {queries:,} queries are equally likely, an engine that knows everything finds yours"
        f" within ten guesses with probability at most {100 * table.risk(queries):.3g} %."
    )


@cover.command("show")
@click.argument("table")
@click.argument("query")
def show(table: str, query: str) -> None:
    """Show the group of TABLE that would be sent for QUERY (- reads standard input).

    Nothing is sent.
    """
    text = check_query(sys.stdin.readline().strip() if query == "-" else query)
    with progress_bar() as report:
        opened = load(table, report=report)
        report("looking up the query", 0, 0)
        match = opened.locate([text])[0]
    console = stdout()
    _show_facts(console, opened, None)
    console.print(
        f"\n[bold]What an engine would see[/bold]: group {match.address + 1:,} of {opened.L:,},"
        f" {count_of(opened.k, 'text')}"
    )
    grid = Grid(box=None, padding=(0, 1), show_header=True)
    for name, style in (("topic", "dim"), ("text", ""), ("also sent for", "dim")):
        grid.add_column(name, style=style, overflow="fold", justify="right" if name == "topic"
                        else "left")  # fmt: skip
    for track, group_text in enumerate(opened.group(match.address)):
        others = [opened.texts[i] for i in opened.members(match.address, track)]
        more = f"; {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        mark = "*" if console.is_terminal and track == match.track else ""
        grid.add_row(
            f"{mark}{track + 1}",
            escape(printable(group_text)),
            escape(printable("; ".join(_cut(member) for member in others[:_SHOWN]) + more)),
        )
    console.print(grid)
    _show_place(console, opened, match)


def _show_place(console: Console, table: Table, match: TableMatch) -> None:
    """Print which topic is the query's: a secret, shown only on a terminal."""
    if not console.is_terminal:
        console.print("Your topic is shown only on a terminal.")
        return
    nearest = escape(printable(_cut(table.texts[match.nearest])))
    console.print(
        f"* Your topic is {match.track + 1}, because of the text [bold]{nearest}[/bold] (cosine"
        f" {match.cosine:.2f}). All {table.k} texts are sent, so nobody else can know."
    )
    if match.cosine < FAR:
        console.print(
            "[yellow]The match is weak: the table has little on your subject, or your query is in"
            " another language. Results may be poor, but you are hidden all the same.[/yellow]"
        )


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " ..."
