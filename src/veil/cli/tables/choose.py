"""``veil tables choose``: which method, and with what parameter, for this table."""

from pathlib import Path
from typing import Any

import click

from veil.cli.domain import group_specs
from veil.cli.studies import WORKERS, WORKERS_HELP, run_study
from veil.cli.studies import choose as chosen
from veil.cli.tables._roles import FILE, opened, with_source
from veil.cli.tables.plane import plane_keys
from veil.cli.terminal import NEW
from veil.studies.domains import make_study
from veil.tables.presets import ladder
from veil.tables.schema import Source, at_worst
from veil.tables.study import SUCCESS


@click.command("choose")
@click.argument("file", type=FILE)
@click.argument("methods", nargs=-1, metavar="[METHOD]...")
@with_source
@click.option("--max-risk", type=click.FloatRange(0, 1), required=True,
              help="highest risk to accept")  # fmt: skip
@click.option("--attacker", multiple=True, metavar="SPEC", help="who attacks  [default: linkage]")
@click.option("--utility", default="marginals", show_default=True,
              help="marginals, cells, or ml(target=COLUMN)")  # fmt: skip
@click.option("--mean", is_flag=True, help="go by the measured risk, and do without certainty")
@click.option("--draws", type=click.IntRange(1, 100), default=1, show_default=True,
              help="releases of a method that draws, by themselves each")  # fmt: skip
@click.option("--population", type=FILE, help="file of everybody, for attackers that know them")
@click.option("--control", type=FILE, help="file of rows that were never used")
@click.option("--seed", type=int, help="of the draws, which can be repeated")
@click.option("-o", "--out", type=NEW, default=Path("veil-report"), show_default=True,
              help="folder of the report; what is there is not computed again")  # fmt: skip
@click.option("--workers", type=WORKERS, help=WORKERS_HELP)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def choose(
    file: Path,
    methods: tuple[str, ...],
    source: Source,
    max_risk: float,
    mean: bool,
    out: Path,
    workers: int | None,
    as_json: bool,
    **given: Any,  # noqa: ANN401 - as the options have them
) -> None:
    """Choose the method and parameter for FILE that keep most under a bound on the risk.

    All methods that apply are tried, with a few parameters each, or those that are named. The risk
    is an average over the records, against the strongest attacker. It is certified when it keeps
    the bound with 97.5 % confidence, for records like these and each configuration by itself.
    Without --qi an attacker is taken to know every column that has no role.

    Exit code 0: it is certified, or --mean was given. 3: nothing is certified, and the best by the
    measured risk is printed, marked as such. 2: nothing fits, or the input cannot be used.
    """
    curves = group_specs(methods) if methods else ladder(at_worst(opened(source, file))[0])
    keys = plane_keys(file, source, curves, out.stem, given)
    folder = out.with_suffix("") if out.suffix == ".html" else out
    page = out if out.suffix == ".html" else None
    run_study(make_study(keys, "the command", Path.cwd()), folder, workers=workers, page=page)
    click.get_current_context().invoke(
        chosen,
        max_risk=max_risk,
        attacker=SUCCESS,
        results=folder,
        mean=mean,
        data=None,
        task=None,
        as_json=as_json,
    )
