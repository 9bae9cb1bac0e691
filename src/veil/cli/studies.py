"""Run a study of any domain, show its scores, and choose a configuration."""

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import progress_bar, stderr, stdout

if TYPE_CHECKING:  # help needs none of these, and they are slow to load
    from veil.studies.choose import Candidate, Choice
    from veil.studies.results import Results, Score
    from veil.studies.study import Study


def show_scores(results: "Results") -> None:
    """Print the QuIPU scores: a table per attack, a row per mechanism."""
    console = stdout()
    for warning in results.warnings:
        stderr().print(f"[yellow]Warning. {escape(warning)}[/yellow]")
    if not results.scores:
        console.print(
            f"QuIPU on {escape(results.name)}: no score, because risk and utility were not"
            " both measured."
        )
        _show_utilities(results)
        return
    same = "~" if console.options.ascii_only else "≈"
    console.print(
        f"QuIPU on {escape(results.name)}: 1 is useful and private, 0 no better than the diagonal,"
        f" negative worse. * is the best of its column, {same} cannot be distinguished from it."
    )
    groups: dict[tuple[str, str, str], list[Score]] = {}
    for score in results.scores:
        place = (score.attacker, score.task, score.data)
        groups.setdefault(place, []).append(score)
    for (attacker, *where), scores in groups.items():
        title = ", ".join(filter(None, (f"Against {attacker}", *where)))
        console.print(f"\n[italic]{escape(title)}[/italic]")
        console.print(_table(scores, same))


def _show_utilities(results: "Results") -> None:
    """Print the measures of utility, for a study without attacks and so without scores."""
    from veil.studies.domains import vocabulary

    console = stdout()
    rows = [row for row in results.rows if row.kind == "utility"]
    for data, task in dict.fromkeys((row.data, row.task) for row in rows):
        inside = [row for row in rows if (row.data, row.task) == (data, task)]
        title = ", ".join(filter(None, (f"Utility on {data}", task)))
        console.print(f"\n[italic]{escape(title)}[/italic]")
        measures = list(dict.fromkeys(row.measure for row in inside))
        table = Table("mechanism", *map(escape, measures))
        for spec, size in dict.fromkeys((row.spec, row.size) for row in inside):
            figures = {row.measure: f"{row.score:.3f} [{row.low:.3f}, {row.high:.3f}]"
                       for row in inside if (row.spec, row.size) == (spec, size)}  # fmt: skip
            name = spec if size == 1 else f"{spec}, {vocabulary(results.domain).sizes(size)}"
            table.add_row(
                escape(name), *(escape(figures.get(measure, "")) for measure in measures)
            )
        console.print(table)


def _table(scores: "Sequence[Score]", same: str) -> Table:
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


def _cell(score: "Score", same: str) -> str:
    shown = f"{score.score:+.3f}" if math.isfinite(score.score) else "-"
    if score.best:
        return f"[bold]{shown} *[/bold]"
    return f"{shown} {same}" if score.alike else shown


WORKERS = click.IntRange(0, 256)
WORKERS_HELP = "Number of worker processes; 0: none.  [default: one per processor]"


def run_study(
    study: "Study",
    out: Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    page: Path | None = None,
) -> list[Path]:
    """Run a study with its store in the folder `out`, and return the files of its results.

    The report is in the same folder, unless `page` is another file.
    """
    from veil.core.parallel import cores
    from veil.studies.export import export
    from veil.studies.pool import dask_executor  # slow to load, and 'veil choose' draws nothing
    from veil.studies.report.report import FILE, write_report
    from veil.studies.sweep import sweep

    try:
        with progress_bar() as report, dask_executor(dask) if dask else nullcontext() as executor:
            results = sweep(
                study,
                out,
                executor=executor,
                workers=cores() if workers is None else workers,
                report=report,
            )
    except KeyboardInterrupt:
        click.echo(
            f"veil: stopped; finished results are kept in {out}. Run it again to continue.",
            err=True,
        )
        raise click.exceptions.Exit(130) from None
    target = page or out / FILE
    files = [write_report(results, target.parent, target.name), *export(results, out)]
    show_scores(results)
    for note in results.notes:
        stderr().print(f"[yellow]{escape(note)}[/yellow]")
    for file in files:
        stderr().print(f"{file}", markup=False)
    return files


UNCERTIFIED = 3  # exit code


@click.command()
@click.option(
    "--max-risk", type=click.FloatRange(0, 1), required=True, help="Highest risk to accept."
)
@click.option(
    "--attacker",
    metavar="MEASURE",
    default="active",
    show_default=True,
    help="Measure of success: lazy (the first guess is right), active (within ten guesses),"
    " motivated (1 / rank), persistent (rank-biased), or another measure of the domain.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("veil-report"),
    show_default=True,
    help="Folder of a report.",
)
@click.option(
    "--mean", is_flag=True, help="Choose by the measured risk, without a confidence bound."
)
@click.option(
    "--collection", "--data", "data", help="Data to consider, if the report has several."
)
@click.option(
    "--engine", "--task", "task", help="Engine or task to consider, if the report has several."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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

    The risk is that of the strongest attack in the report. Your own data may behave differently.
    A configuration is certified if its risk is within the bound with 97.5 % confidence. The
    confidence holds for each configuration separately.

    Exit code 0: the choice is certified, or --mean was given. 3: nothing is certified; the best by
    measured risk is printed and marked. 2: no configuration fits, or the input is invalid.
    """
    from veil.studies.choose import UncertifiedError
    from veil.studies.choose import choose as choose_best
    from veil.studies.export import read_csv

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


def _document(choice: "Choice") -> dict[str, object]:
    """Return a choice as JSON values, with the names that its domain uses."""
    several = {
        name: [_candidate(candidate) for candidate in getattr(choice, name)]
        for name in ("ties", "overlapping")
    }
    return asdict(choice) | {"best": _candidate(choice.best)} | several


def _candidate(candidate: "Candidate") -> dict[str, object]:
    from veil.studies.export import to_record

    return asdict(candidate) | {
        "utility": to_record(candidate.utility),
        "risk": to_record(candidate.risk),
    }
