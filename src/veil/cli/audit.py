"""``veil audit``: sweep mechanisms and parameters, attack them, and write a report."""

from contextlib import nullcontext
from pathlib import Path

import click
from rich.markup import escape

from veil.cli._beside import Beside
from veil.cli._scores import show_scores
from veil.cli._screen import progress_bar, stderr
from veil.cli.claims import claims
from veil.core.errors import ParameterError, VeilError
from veil.core.parallel import cores
from veil.proxy.last_audit import note_audit
from veil.studies.export import export
from veil.studies.pool import dask_executor
from veil.studies.report.report import write_report
from veil.studies.shipped import default_study, demo_study
from veil.studies.study import load_study
from veil.studies.sweep import sweep


@click.command(cls=Beside, commands={"claims": claims})
@click.argument("study", type=click.Path(path_type=Path), required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("veil-report"),
    show_default=True,
    help="folder of the report; what is there already is not computed again",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 256),
    help="processes to share the work; 0: none  [default: one per processor]",
)
@click.option("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster to compute on")
@click.option("--demo", is_flag=True, help="a small sweep of a minute or two, for a first look")
def audit(
    study: Path | None, out: Path, workers: int | None, dask: str | None, demo: bool
) -> None:
    """Sweep the mechanisms of STUDY, a TOML file, attack them, and write a report.

    Without STUDY: all mechanisms on the embedded collection. Kill it at any moment and start it
    again: nothing is lost, and nothing is computed twice.
    """
    if demo and study is not None:
        raise ParameterError("--demo is a study of its own; leave the file out.")
    if dask is not None and workers is not None:
        raise ParameterError("Give either --workers or --dask, not both.")
    chosen = load_study(study) if study else demo_study() if demo else default_study()
    try:
        with progress_bar() as report, dask_executor(dask) if dask else nullcontext() as executor:
            found = sweep(
                chosen,
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
    files = [write_report(found, out), *export(found, out)]
    if not demo:  # a first look is too small to steer by
        _note(out)
    show_scores(found)
    for note in found.notes:
        stderr().print(f"[yellow]{escape(note)}[/yellow]")
    for file in files:
        stderr().print(f"{file}", markup=False)


def _note(out: Path) -> None:
    """Tell 'veil serve' where the audit lies; the audit itself is done, whatever comes of this."""
    try:
        note_audit(out)
    except VeilError as error:
        click.echo(f"veil: 'veil serve' will not find this audit by itself: {error}", err=True)
