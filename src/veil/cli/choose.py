"""``veil choose``: the most useful configuration under a bound on the risk."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from veil.studies.choose import Candidate, Choice, UncertifiedError
from veil.studies.choose import choose as choose_best
from veil.studies.export import named, read_csv

UNCERTIFIED = 3  # exit code


@click.command()
@click.option(
    "--max-risk", type=click.FloatRange(0, 1), required=True, help="highest risk to accept"
)
@click.option(
    "--attacker",
    metavar="MEASURE",
    default="active",
    show_default=True,
    help="how success is counted: lazy (right at once), active (within ten guesses), motivated"
    " (1 / rank), persistent (rank-biased), or what a domain has besides",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("veil-report"),
    show_default=True,
    help="folder of an audit",
)
@click.option("--mean", is_flag=True, help="go by the measured risk, and do without certainty")
@click.option("--collection", "--data", "data", help="which data, if the audit has several")
@click.option("--engine", "--task", "task", help="which engine or task, if the audit has several")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def choose(
    max_risk: float,
    attacker: str,
    results: Path,
    mean: bool,
    data: str | None,
    task: str | None,
    as_json: bool,
) -> None:
    """Choose the mechanism and parameters with the best utility under a bound on the risk.

    The risk is that of the strongest attack tried in the audit, of whatever kind of data; data of
    your own may behave otherwise. A configuration is certified when its risk keeps the bound with
    97.5 % confidence, for each configuration by itself.

    Exit code 0: it is certified, or --mean was given. 3: nothing is certified, and the best by the
    measured risk is printed, marked as such. 2: nothing fits, or the input cannot be used.
    """
    code = 0
    try:
        choice = choose_best(
            read_csv(results / "results.csv"),
            max_risk=max_risk,
            attacker=attacker,
            cautious=not mean,
            data=data,
            task=task,
        )
    except UncertifiedError as error:
        choice, code = error.choice, UNCERTIFIED
        click.echo(f"veil: {error}", err=True)
    if choice.best.warning:
        click.echo(choice.best.warning, err=True)
    click.echo(json.dumps(_document(choice), indent=1) if as_json else str(choice))
    click.get_current_context().exit(code)


def _document(choice: Choice) -> dict[str, object]:
    """Return a choice with the names that its domain uses."""
    several = {
        name: [_candidate(one) for one in getattr(choice, name)]
        for name in ("ties", "overlapping")
    }
    return asdict(choice) | {"best": _candidate(choice.best)} | several


def _candidate(one: Candidate) -> dict[str, object]:
    return asdict(one) | {"utility": named(one.utility), "risk": named(one.risk)}
