"""``veil audit``: sweep mechanisms and parameters, attack them, and write a report."""

from pathlib import Path

import click

from veil.cli._beside import Beside
from veil.cli.claims import claims
from veil.cli.sweeping import OUT, WORKERS, WORKERS_HELP, run_study
from veil.core.errors import ParameterError, VeilError
from veil.proxy.folder import note_audit
from veil.search.study.study import default_study, demo_study
from veil.studies import DEFAULT
from veil.studies.domains import load_study


@click.command(cls=Beside, commands={"claims": claims})
@click.argument("study", type=click.Path(path_type=Path), required=False)
@click.option(
    "-o",
    "--out",
    type=OUT,
    default=Path("veil-report"),
    show_default=True,
    help="folder of the report; what is there already is not computed again",
)
@click.option(
    "--workers",
    type=WORKERS,
    help=WORKERS_HELP,
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
    run_study(chosen, out, workers=workers, dask=dask)
    if not demo and chosen.domain == DEFAULT:  # a first look is too small to steer by
        _note(out)


def _note(out: Path) -> None:
    """Tell 'veil serve' where the audit lies; the audit itself is done, whatever comes of this."""
    try:
        note_audit(out)
    except VeilError as error:
        click.echo(f"veil: 'veil serve' will not find this audit by itself: {error}", err=True)
