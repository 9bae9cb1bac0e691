"""``veil dp audit``: hold what mechanisms and oracles claim against samples."""

import json
import math

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import progress_bar, stdout
from veil.core.component import example
from veil.dp.audit import Audit, Audited
from veil.dp.audit import audit as held
from veil.dp.local.oracles import ORACLES
from veil.dp.mechanisms import MECHANISMS
from veil.dp.release import mechanism_or_oracle


@click.command("audit")
@click.argument("mechanisms", nargs=-1, metavar="[MECHANISM | ORACLE]...")
@click.option(
    "--samples",
    type=click.IntRange(1000, 10_000_000),
    default=100_000,
    show_default=True,
    help="draws for each of two inputs",
)
@click.option(
    "--error",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="largest chance that a correct mechanism is accused",
)
@click.option("--seed", type=click.IntRange(0), help="repeatable draws")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def audit(
    mechanisms: tuple[str, ...], samples: int, error: float, seed: int | None, as_json: bool
) -> None:
    """Draw from each MECHANISM or ORACLE, and hold the epsilon that it claims against that.

    Each is a spec as 'geometric(epsilon=1)', or a name; without any, all are tried. Where a claim
    is refuted the exit code is 1. A claim that is not refuted is not proved.
    """
    specs = mechanisms or (*MECHANISMS.names(), *ORACLES.names())
    chosen = [_chosen(spec) for spec in specs]
    audits = []
    with progress_bar() as report:
        for number, each in enumerate(chosen):
            report(f"auditing {each.name}", number, len(chosen))
            audits.append(held(each, samples=samples, error=error, rng=seed))
    if as_json:
        click.echo(json.dumps([_document(each) for each in audits], indent=1, allow_nan=False))
    else:
        _show(chosen, audits)
    if any(each.exceeded for each in audits):
        raise click.exceptions.Exit(1)


def _chosen(spec: str) -> Audited:
    """Build a mechanism; one that is named only has the parameters of its example."""
    for registry in (MECHANISMS, ORACLES):
        if spec in registry.names():
            return example(registry.get(spec))
    return mechanism_or_oracle(spec)


def _document(found: Audit) -> dict[str, object]:
    return {
        "mechanism": found.mechanism,
        "verdict": found.verdict,
        "refuted": found.exceeded,
        "claimed": found.claimed if math.isfinite(found.claimed) else None,
        "delta": found.delta,
        "measured": found.lower,
        "reach": found.reach,
        "samples": found.samples,
        "error": found.error,
    }


def _show(chosen: list[Audited], audits: list[Audit]) -> None:
    table = Table()
    for heading in ("mechanism", "claimed", "measured ≥", "verdict"):
        table.add_column(heading, overflow="fold")
    for mechanism, found in zip(chosen, audits, strict=True):
        at = f" at delta {found.delta:g}" if found.delta else ""
        said = f"{found.claimed:.3f}{at}" if math.isfinite(found.claimed) else ""
        verdict = f"[red]{found.verdict}[/red]" if found.exceeded else found.verdict
        table.add_row(escape(mechanism.brief), said, f"{found.lower:.3f}", verdict)
    console = stdout()
    console.print(table)
    first = audits[0]
    console.print(
        f"{first.samples:,} draws show an epsilon of at most {first.reach:.2f}: what is claimed"
        " above that is out of reach. A correct mechanism is accused with a chance of at most"
        f" {first.error:g}."
    )
