"""Run a study of any domain, show its scores, and choose from it."""

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import progress_bar, stderr, stdout
from veil.core.parallel import cores
from veil.studies.choose import Candidate, Choice, UncertifiedError
from veil.studies.choose import choose as choose_best
from veil.studies.domains import vocabulary
from veil.studies.export import export, named, read_csv
from veil.studies.results import Results, Score
from veil.studies.study import Study
from veil.studies.sweep import sweep


def show_scores(found: Results) -> None:
    """Print the QuIPU scores: a table per attacker, one row per mechanism."""
    console = stdout()
    for warning in found.warnings:
        stderr().print(f"[yellow]Warning. {escape(warning)}[/yellow]")
    if not found.scores:
        console.print(
            f"QuIPU on {escape(found.name)}: no score; risk and utility were not both measured."
        )
        _show_utilities(found)
        return
    same = "~" if console.options.ascii_only else "≈"
    console.print(
        f"QuIPU on {escape(found.name)}: 1 is useful and private, 0 no better than the diagonal,"
        f" below it worse. * is the best of its column, {same} cannot be told from it."
    )
    groups: dict[tuple[str, str, str], list[Score]] = {}
    for score in found.scores:
        place = (score.attacker, score.task, score.data)
        groups.setdefault(place, []).append(score)
    for (attacker, *where), scores in groups.items():
        title = ", ".join(filter(None, (f"Against {attacker}", *where)))
        console.print(f"\n[italic]{escape(title)}[/italic]")
        console.print(_table(scores, same))


def _show_utilities(found: Results) -> None:
    """Print the measures of utility: without attackers there are no scores."""
    console = stdout()
    rows = [row for row in found.rows if row.kind == "utility"]
    for data, task in dict.fromkeys((row.data, row.task) for row in rows):
        inside = [row for row in rows if (row.data, row.task) == (data, task)]
        title = ", ".join(filter(None, (f"Utility on {data}", task)))
        console.print(f"\n[italic]{escape(title)}[/italic]")
        measures = list(dict.fromkeys(row.measure for row in inside))
        table = Table("mechanism", *map(escape, measures))
        for spec, size in dict.fromkeys((row.spec, row.size) for row in inside):
            figures = {row.measure: f"{row.score:.3f} [{row.low:.3f}, {row.high:.3f}]"
                       for row in inside if (row.spec, row.size) == (spec, size)}  # fmt: skip
            name = spec if size == 1 else f"{spec}, {vocabulary(found.domain).sizes(size)}"
            table.add_row(escape(name), *(escape(figures.get(one, "")) for one in measures))
        console.print(table)


def _table(scores: Sequence[Score], same: str) -> Table:
    measures = dict.fromkeys(score.measure for score in scores)
    table = Table("mechanism")
    for measure in measures:
        table.add_column(measure, no_wrap=True)
    rows: dict[str, dict[str, str]] = {}
    for score in scores:
        rows.setdefault(score.curve, {})[score.measure] = _cell(score, same)
    for curve, cells in rows.items():
        table.add_row(escape(curve), *(cells.get(measure, "") for measure in measures))
    return table


def _cell(score: Score, same: str) -> str:
    shown = f"{score.score:+.3f}" if math.isfinite(score.score) else "-"
    if score.best:
        return f"[bold]{shown} *[/bold]"
    return f"{shown} {same}" if score.alike else shown


WORKERS = click.IntRange(0, 256)
WORKERS_HELP = "processes to share the work; 0: none  [default: one per processor]"


def run_study(
    study: Study,
    out: Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    page: Path | None = None,
) -> list[Path]:
    """Sweep a study with its store in the folder `out`, and return the files of its results.

    The report is there as well, unless `page` names another file.
    """
    from veil.studies.pool import dask_executor  # drawing is not needed for `veil choose`
    from veil.studies.report.report import FILE, write_report

    try:
        with progress_bar() as report, dask_executor(dask) if dask else nullcontext() as executor:
            found = sweep(
                study,
                out,
                executor=executor,
                workers=cores() if workers is None else workers,
                report=report,
            )
    except KeyboardInterrupt:
        click.echo(
            f"veil: stopped; what is done is kept in {out}: start again to go on.", err=True
        )
        raise click.exceptions.Exit(130) from None
    target = page or out / FILE
    files = [write_report(found, target.parent, target.name), *export(found, out)]
    show_scores(found)
    for note in found.notes:
        stderr().print(f"[yellow]{escape(note)}[/yellow]")
    for file in files:
        stderr().print(f"{file}", markup=False)
    return files


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
    """Choose the most useful mechanism under a bound on the risk.

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
