"""``veil dp sql``: one question to a database, answered with noise."""

import json
import math
import sys
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table as Screen

from veil.cli.terminal import fits, stderr, stdout
from veil.core.formatting import escaped_json, number_of, printable
from veil.dp.sql.database import FORGOTTEN, Database, Table, connect
from veil.dp.sql.plan import Explanation


@click.command("sql")
@click.argument("query")
@click.option("--db", required=True, metavar="URL",
              help="duckdb:FILE, sqlite:FILE or postgresql://HOST/NAME")  # fmt: skip
@click.option("--policy", required=True, type=click.Path(path_type=Path, dir_okay=False),
              help="TOML file: the budget, and what may be asked of which tables")  # fmt: skip
@click.option("--epsilon", type=float, default=0.5, show_default=True,
              help="cost of the whole query")  # fmt: skip
@click.option("--delta", type=float, default=0.0, show_default=True,
              help="needed where the keys of GROUP BY are not all public")  # fmt: skip
@click.option("--param", "params", multiple=True, metavar="VALUE",
              help="value of the next ? in QUERY; '\"7\"' is a text, 7 a number")  # fmt: skip
@click.option("--explain", is_flag=True, help="say what would be computed, and spend nothing")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option("--seed", type=click.IntRange(0),
              help="repeats the draws, for experiments: NOT PRIVATE")  # fmt: skip
def sql(
    query: str,
    db: str,
    policy: Path,
    epsilon: float,
    delta: float,
    params: tuple[str, ...],
    explain: bool,
    as_json: bool,
    seed: int | None,
) -> None:
    """Ask a database QUERY, one SELECT (- reads it from standard input); answers are noisy.

    COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN and QUANTILE of columns that the policy lists, with
    WHERE, GROUP BY, HAVING, ORDER BY and LIMIT. Each answer is charged to the budget of the policy
    before a row is read; what is refused costs nothing.
    """
    text = sys.stdin.read() if query == "-" else query
    values = [_value(one) for one in params]
    with connect(db, policy, rng=seed) as opened:
        if explain:
            _explain(opened.explain(text, epsilon, delta, values), opened, as_json=as_json)
            return
        answer = opened.sql(text, epsilon, delta, values)
        if as_json:
            _print(_document(answer, opened))
        else:
            _show(answer)
        _tell(answer, opened)


def _value(text: str) -> int | float | str:
    """Read a value: a number if it looks like one, unless it is in quotes."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _show(answer: Table) -> None:
    console = stdout()
    table = Screen(*(escape(printable(name)) for name in answer.columns))
    rows = [
        [_cell(value, error) for value, error in zip(row, errors, strict=True)]
        for row, errors in zip(answer.rows, answer.errors, strict=True)
    ]
    for row in rows:
        table.add_row(*map(escape, row))
    if fits(console, table):
        console.print(table)
        return
    for row in rows:
        for name, cell in zip(answer.columns, row, strict=True):
            console.print(f"{escape(printable(name))}: {escape(cell)}", soft_wrap=True)
        console.print()


def _cell(value: object, error: float) -> str:
    """Write a value, with the standard deviation of its noise if it has one."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return printable(value)
    shown = f"{value:,}" if isinstance(value, int) else number_of(float(str(value)))
    if math.isnan(error):
        return f"{shown} (drawn)"
    return f"{shown} ± {number_of(float(f'{error:.3g}'))}" if error else shown


def _tell(answer: Table, opened: Database) -> None:
    notes = stderr()
    if answer.threshold is not None:
        notes.print(
            f"Groups with fewer than {answer.threshold:,} units, in noisy numbers, are left out."
        )
    left, budget = opened.budget.remaining, opened.budget
    notes.print(
        f"Cost: {escape(str(answer.cost))}. Left of the budget: epsilon {number_of(left.epsilon)}"
        f" of {number_of(budget.epsilon)}, delta {left.delta:g} of {budget.delta:g}."
    )
    if not budget.durable:
        notes.print(f"[yellow]{escape(FORGOTTEN)}[/yellow]")
    if answer.seeded:
        notes.print("[yellow]Seeded: the draws can be repeated. NOT PRIVATE.[/yellow]")


def _explain(told: Explanation, opened: Database, *, as_json: bool) -> None:
    if as_json:
        _print(_explained(told, opened))
        return
    console = stdout()
    console.print(escape(_lines(str(told))), soft_wrap=True)
    console.print("The database would be asked:")
    for statement in told.statements:
        console.print(f"  {escape(printable(statement))}", soft_wrap=True)
    left = opened.budget.remaining
    stderr().print(f"Nothing was spent; epsilon {number_of(left.epsilon)} is left.")
    if not opened.budget.durable:
        stderr().print(f"[yellow]{escape(FORGOTTEN)}[/yellow]")


def _lines(text: str) -> str:
    """Keep the ends of lines, and nothing else that steers a terminal."""
    return "\n".join(map(printable, text.split("\n")))


def _left(opened: Database) -> dict[str, float]:
    left = opened.budget.remaining
    return {"epsilon": left.epsilon, "delta": left.delta}


def _document(answer: Table, opened: Database) -> dict[str, object]:
    return {
        "columns": list(answer.columns),
        "rows": [list(row) for row in answer.rows],
        "std": [_number(one) for one in answer.std],
        "errors": [[_number(one) for one in row] for row in answer.errors],
        "threshold": answer.threshold,
        "epsilon": answer.cost.epsilon,
        "delta": answer.cost.delta,
        "unit": answer.cost.unit,
        "caveat": answer.cost.caveat,
        "remaining": _left(opened),
        "seeded": answer.seeded,
    }


def _explained(told: Explanation, opened: Database) -> dict[str, object]:
    return {
        "columns": list(told.columns),
        "quantities": [
            {"label": one.label, "sensitivity": one.sensitivity, "epsilon": one.epsilon,
             "std": _number(one.std)}
            for one in told.quantities
        ],
        "max_rows": told.max_rows,
        "max_groups": told.max_groups,
        "groups": told.groups,
        "threshold": told.threshold,
        "epsilon": told.cost.epsilon,
        "delta": told.cost.delta,
        "unit": told.cost.unit,
        "statements": list(told.statements),
        "remaining": _left(opened),
    }  # fmt: skip


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _print(document: dict[str, object]) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=1, default=str)
    click.echo(escaped_json(text, sys.stdout.encoding or "utf-8"))
