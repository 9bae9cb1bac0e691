"""``veil score``: the plane and the QuIPU scores of variants and runs that are there already."""

from pathlib import Path

import click
from rich.markup import escape

from veil.cli.options import VECTORS_OPTION
from veil.cli.studies import show_scores
from veil.cli.terminal import NEW, progress_bar, stderr
from veil.core.errors import InputError, ParameterError
from veil.search.score.points import RunPoint, paired, points_in, read_manifest
from veil.search.score.score import score as scored
from veil.studies.export import export
from veil.studies.report.report import write_report

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("variants", nargs=-1, type=FILE)
@click.option(
    "--runs", "--run", "runs", type=FILE, multiple=True, help="a run, or a folder of them"
)
@click.option("--qrels", type=FILE, help="judgements: query 0 document grade")
@click.option("--manifest", type=FILE, help="table of variants and their runs, in place of both")
@click.option("--plain", type=FILE, help="run of the queries themselves, to compare with")
@click.option("--log", "log_file", type=FILE, help="queries that attackers have, one per line")
@click.option(
    "--attacker",
    "attackers",
    multiple=True,
    default=("inference",),
    show_default=True,
    help="who attacks, with parameters in brackets; as often as there are several",
)
@click.option(
    "--as-is", is_flag=True, help="do not add originals that the log lacks: a lower bound"
)
@click.option("--name", default="", help="what the queries are called  [default: as the qrels]")
@click.option(
    "-o",
    "--out",
    type=NEW,
    default=Path("veil-score"),
    show_default=True,
    help="folder of the report",
)
def score(
    variants: tuple[Path, ...],
    runs: tuple[Path, ...],
    qrels: Path | None,
    manifest: Path | None,
    plain: Path | None,
    log_file: Path | None,
    attackers: tuple[str, ...],
    as_is: bool,
    name: str,
    out: Path,
    vectors: str,
) -> None:
    """Place your own variants and runs on the plane.

    The QuIPU table is printed, too.

    VARIANTS are files with columns id, text, obfuscatedText, mechanism and epsilon (or level), or
    folders of them. A run is TREC's, one list for each query, and is called by the mechanism and
    the value that it belongs to, as dl19_CMP_12.5.run; --manifest names the pairs instead.
    """
    if qrels is None:
        raise InputError("Utility needs judgements; name them with --qrels.")
    points = _points(variants, runs, manifest)
    with progress_bar() as report:
        found = scored(
            points,
            qrels,
            log=log_file,
            attackers=attackers,
            plain=plain,
            vectors=vectors,
            as_is=as_is,
            name=name,
            report=report,
        )
    files = [write_report(found, out), *export(found, out)]
    show_scores(found)
    for note in found.notes:
        stderr().print(f"[yellow]{escape(note)}[/yellow]")
    for file in files:
        stderr().print(f"{file}", markup=False)


score.params.append(VECTORS_OPTION)


def _points(
    variants: tuple[Path, ...], runs: tuple[Path, ...], manifest: Path | None
) -> list[RunPoint]:
    if manifest is not None:
        if variants or runs:
            raise ParameterError("A manifest names variants and runs; leave those out.")
        return read_manifest(manifest)
    if not variants:
        raise InputError("There is nothing to score: name files of variants, or --manifest.")
    if not runs:
        raise InputError("Utility needs what the variants found; name the runs with --runs.")
    return paired(points_in(_files(variants, "variants")), _files(runs, "runs"))


def _files(given: tuple[Path, ...], what: str) -> list[Path]:
    """Return files, and those of folders in the order of their names."""
    found: list[Path] = []
    for path in given:
        inside = (
            sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
        )
        if not inside:
            raise InputError(f"The folder {path} is empty; it should hold {what}.")
        found += [one for one in inside if not one.name.startswith(".")]
    return list(dict.fromkeys(found))
