"""``veil dp budget``: what of the budget of a policy was spent, and what is left."""

from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import fits, stderr, stdout
from veil.core.formatting import count_of, number_of
from veil.dp.accounting.budget import Budget
from veil.dp.accounting.charges import Event
from veil.dp.sql.schema import load_policy

_WIDTH = 30  # cells of a bar


@click.command("budget")
@click.argument("policy", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--count", type=click.IntRange(0, 10_000), default=20, show_default=True,
              help="charges to show, the newest last")  # fmt: skip
def budget(policy: Path, count: int) -> None:
    """Show what was spent of the budget of POLICY (TOML), what is left, and the charges.

    Looking costs nothing, and makes no ledger.
    """
    loaded = load_policy(policy)
    rule, ledger = loaded.policy.budget, loaded.ledger
    there = ledger if ledger is not None and ledger.exists() else None
    found = Budget(rule.epsilon, rule.delta, rule.accountant, there, make=False)
    console = stdout()
    console.print(f"Budget of {escape(str(policy))}, counted by {rule.accountant}")
    spent, left = found.spent, found.remaining
    console.print(_line("epsilon", spent.epsilon, rule.epsilon, left.epsilon))
    if rule.delta:
        console.print(_line("delta", spent.delta, rule.delta, left.delta))
    if ledger is None:
        console.print(
            'The policy names no ledger (ledger = "none"): every program counts for itself, from'
            " nothing."
        )
    elif there is None:
        console.print(f"Nothing was charged yet: there is no ledger {escape(str(ledger))}.")
    else:
        _show(console, found.events, count)
    if found.cost.caveat:
        stderr().print(f"[yellow]{escape(found.cost.caveat)}[/yellow]")


def _line(name: str, spent: float, total: float, left: float) -> str:
    full = round(_WIDTH * min(1.0, spent / total))
    drawn = "#" * full + "." * (_WIDTH - full)
    return (
        f"{name:<8}{escape(f'[{drawn}]')} {number_of(spent)} of {number_of(total)} spent,"
        f" {number_of(left)} left"
    )


def _show(console: Console, events: tuple[Event, ...], count: int) -> None:
    if not events:
        console.print("Nothing was charged yet.")
        return
    shown = events[-count:] if count else ()
    table = Table("no.", "when", "times", "charge", "note")
    for event in shown:
        cells = (f"{event.at:%Y-%m-%d %H:%M}", f"{event.times:,}", str(event.cost), event.note)
        table.add_row(str(event.number), *map(escape, cells))
    if shown and fits(console, table):
        console.print(table)
    else:
        for event in shown:
            note = f" ({escape(event.note)})" if event.note else ""
            console.print(
                f"no. {event.number}, {event.at:%Y-%m-%d %H:%M}: {escape(str(event.cost))}, times"
                f" {event.times:,}{note}"
            )
    console.print(f"{count_of(len(events), 'charge')} in all.")
