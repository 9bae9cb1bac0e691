"""``veil tables plane``: the R-U confidentiality map."""

from pathlib import Path
from typing import Any

import click

from veil.cli.domain import group_specs
from veil.cli.studies import WORKERS, WORKERS_HELP, run_study
from veil.cli.tables._roles import FILE, study_keys, with_source
from veil.cli.terminal import NEW
from veil.studies.domains import make_study
from veil.tables.schema import Source


@click.command("plane")
@click.argument("file", type=FILE)
@click.argument("methods", nargs=-1, required=True, metavar="METHOD...")
@with_source
@click.option("--attacker", multiple=True, metavar="SPEC", help="who attacks  [default: linkage]")
@click.option("--utility", default="marginals", show_default=True,
              help="marginals, cells, or ml(target=COLUMN)")  # fmt: skip
@click.option("--draws", type=click.IntRange(1, 100), default=1, show_default=True,
              help="releases of a method that draws, by themselves each")  # fmt: skip
@click.option("--population", type=FILE, help="file of everybody, for attackers that know them")
@click.option("--control", type=FILE, help="file of rows that were never used")
@click.option("--seed", type=int, help="of the draws, which can be repeated")
@click.option("-o", "--out", type=NEW, default=Path("plane.html"), show_default=True,
              help="the page, or a folder; what is there is not computed again")  # fmt: skip
@click.option("--workers", type=WORKERS, help=WORKERS_HELP)
def plane(
    file: Path,
    methods: tuple[str, ...],
    source: Source,
    out: Path,
    workers: int | None,
    **given: Any,  # noqa: ANN401 - as the options have them
) -> None:
    """Place methods on the risk-utility plane: protect, attack, measure, and draw.

    Methods that differ in one number, as "mdav(k=3)" "mdav(k=10)", are a curve. The page shows
    the table before and after: how many records look alike, the risk of all records, and the
    shares of each column. It was made with the true table: keep it to yourself.

    Without --qi an attacker is taken to know every column that has no role.
    """
    study = make_study(
        plane_keys(file, source, group_specs(methods), out.stem, given), "the command", Path.cwd()
    )
    page = out if out.suffix == ".html" else None
    run_study(study, out.with_suffix("") if page else out, workers=workers, page=page)


def plane_keys(
    file: Path, source: Source, curves: list[dict[str, object]], name: str, given: dict[str, Any]
) -> dict[str, Any]:
    """Return the keys of a study of a table."""
    keys = {"domain": "tables", "name": name, "mechanism": curves, **study_keys(source, file)}
    keys["attackers"] = list(given.get("attacker") or ("linkage",))
    for key in ("utility", "draws", "seed"):
        keys |= {key: given[key]} if given.get(key) is not None else {}
    for key in ("population", "control"):
        keys |= {key: str(given[key])} if given.get(key) else {}
    return keys
