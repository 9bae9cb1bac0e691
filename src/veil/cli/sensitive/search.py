"""``veil sensitive search``: what somebody who is not cleared gets to see."""

from pathlib import Path

import click

from veil.cli.sensitive.index import PATH
from veil.core.formatting import printable
from veil.sensitive.index import open_stored
from veil.sensitive.inputs import check_k, check_query
from veil.sensitive.mechanisms import mechanism as strategy_of


@click.command("search")
@click.argument("folder", type=PATH, metavar="INDEX")
@click.argument("query")
@click.option("--strategy", default="postfilter(threshold=0.1)", show_default=True, metavar="SPEC")
@click.option("-k", default=10, show_default=True, help="documents to show at most")
def search(folder: Path, query: str, strategy: str, k: int) -> None:
    """Search INDEX for QUERY, and show only what the strategy lets through.

    A document that a human called sensitive (p = 1), or of which no probability is known, is never
    shown, whatever the strategy. How many were withheld is not said.
    """
    check_query(query)
    check_k(k)
    chosen = strategy_of(strategy)
    stored = open_stored(folder)
    answer = stored.search(query, chosen, k)
    documents = stored.collection.documents
    for rank, place in enumerate(answer.positions.tolist(), start=1):
        title = printable(documents.titles[place])[:100]
        click.echo(f"{rank}\t{printable(documents.ids[place])}\t{title}")
    if not len(answer.positions):
        click.echo("Nothing to show.", err=True)
