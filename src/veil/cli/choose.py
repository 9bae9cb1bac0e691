"""``veil choose``: the most useful configuration under a bound on the risk."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from veil.measures.risk import ATTACKERS, Attacker
from veil.studies.choose import choose as choose_best
from veil.studies.export import read_csv


@click.command()
@click.option(
    "--max-risk", type=click.FloatRange(0, 1), required=True, help="highest risk to accept"
)
@click.option(
    "--attacker",
    type=click.Choice(ATTACKERS),
    default="active",
    show_default=True,
    help="how success is counted: right at once, within ten guesses, 1 / rank, rank-biased",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("veil-report"),
    show_default=True,
    help="folder of an audit",
)
@click.option("--mean", is_flag=True, help="go by the mean, not by the upper end of its interval")
@click.option("--collection", help="which collection, if the audit has several")
@click.option("--engine", help="which engine, if the audit has several")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def choose(
    max_risk: float,
    attacker: Attacker,
    results: Path,
    mean: bool,
    collection: str | None,
    engine: str | None,
    as_json: bool,
) -> None:
    """Choose the mechanism and parameters with the best utility under a bound on the risk.

    The risk is that of the strongest attack tried in the audit; queries and logs of your own may
    behave otherwise.
    """
    choice = choose_best(
        read_csv(results / "results.csv"),
        max_risk=max_risk,
        attacker=attacker,
        cautious=not mean,
        collection=collection,
        engine=engine,
    )
    click.echo(json.dumps(asdict(choice), indent=1) if as_json else str(choice))
