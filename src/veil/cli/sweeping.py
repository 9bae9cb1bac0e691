"""Run a study, of any domain, from the command line: sweep, write, and show the scores."""

from contextlib import nullcontext
from pathlib import Path

import click
from rich.markup import escape

from veil.cli._scores import show_scores
from veil.cli.terminal import progress_bar, stderr
from veil.core.parallel import cores
from veil.studies.export import export
from veil.studies.pool import dask_executor
from veil.studies.report.report import FILE, write_report
from veil.studies.study import Study
from veil.studies.sweep import sweep

OUT = click.Path(path_type=Path)
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
