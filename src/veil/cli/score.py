"""``veil score``: the plane and the QuIPU scores of the user's own variants and runs."""

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
    "--runs", "--run", "runs", type=FILE, multiple=True, help="Run, or folder of runs; repeatable."
)
@click.option("--qrels", type=FILE, help="File of judgements: query 0 document grade.")
@click.option(
    "--manifest",
    type=FILE,
    help="Table of variants and their runs, instead of VARIANTS and --runs.",
)
@click.option("--plain", type=FILE, help="Run of the unprotected queries, to compare with.")
@click.option(
    "--log",
    "log_file",
    type=FILE,
    help="File of queries that the attacker knows, one per line.",
)
@click.option(
    "--attacker",
    "attackers",
    multiple=True,
    default=("inference",),
    show_default=True,
    help="Attack with its parameters in brackets; repeatable.",
)
@click.option(
    "--as-is",
    is_flag=True,
    help="Do not add missing originals to the log. The risk is then a lower bound.",
)
@click.option("--name", default="", help="Name of the queries.  [default: from the qrels]")
@click.option(
    "-o",
    "--out",
    type=NEW,
    default=Path("veil-score"),
    show_default=True,
    help="Folder for the report.",
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

    It also prints the QuIPU scores.

    VARIANTS are files with columns id, text, obfuscatedText, mechanism and epsilon (or level), or
    folders of such files. A run is a TREC run with one list per query, whose file name contains
    its mechanism and value, such as dl19_CMP_12.5.run. Alternatively, --manifest lists the pairs.
    """
    if qrels is None:
        raise InputError("Utility needs judgements. Add --qrels FILE.")
    points = _points(variants, runs, manifest)
    with progress_bar() as report:
        results = scored(
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
    files = [write_report(results, out), *export(results, out)]
    show_scores(results)
    for note in results.notes:
        stderr().print(f"[yellow]{escape(note)}[/yellow]")
    for file in files:
        stderr().print(f"{file}", markup=False)


score.params.append(VECTORS_OPTION)


def _points(
    variants: tuple[Path, ...], runs: tuple[Path, ...], manifest: Path | None
) -> list[RunPoint]:
    if manifest is not None:
        if variants or runs:
            raise ParameterError(
                "A manifest already lists variants and runs. Remove these arguments."
            )
        return read_manifest(manifest)
    if not variants:
        raise InputError("Files of variants are required. Add them, or --manifest FILE.")
    if not runs:
        raise InputError("Utility needs the runs of the variants. Add --runs FILE.")
    return paired(points_in(_files(variants, "variants")), _files(runs, "runs"))


def _files(paths: tuple[Path, ...], what: str) -> list[Path]:
    """Return the files, with those inside folders sorted by name."""
    files: list[Path] = []
    for path in paths:
        inside = (
            sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
        )
        if not inside:
            raise InputError(f"Folder {path} is empty. It must contain {what}.")
        files += [file for file in inside if not file.name.startswith(".")]
    return list(dict.fromkeys(files))
