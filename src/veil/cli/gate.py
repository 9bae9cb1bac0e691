"""``veil gate``: rules that decide whether a query may be sent."""

import sys
from pathlib import Path

import click

from veil.cli.commands import Commands
from veil.cli.terminal import progress_bar
from veil.proxy.gate import Gate, example_gate
from veil.search.pipeline import MAX_QUERY, check_query


@click.group(cls=Commands)
def gate() -> None:
    """Write and test rules that hold back queries.

    'veil serve --gate' and 'veil search --gate' apply them.
    """


@gate.command()
def example() -> None:
    """Print an example file of rules."""
    click.echo(example_gate(), nl=False)


@gate.command("try")
@click.argument("rules", type=click.Path(path_type=Path))
@click.argument("query")
def try_(rules: Path, query: str) -> None:
    """Show what RULES decide about QUERY (- reads standard input).

    Nothing is sent.
    """
    text = sys.stdin.read(MAX_QUERY + 2).strip() if query == "-" else query
    check_query(text)
    with progress_bar() as report:
        report("reading the rules", 0, 0)
        decision = Gate.load(rules, report).decide(text)
    click.echo(f"{decision.action}{f': {decision.reason}' if decision.reason else ''}")
