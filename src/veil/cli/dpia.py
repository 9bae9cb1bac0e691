"""``veil dpia``: the impact assessment as a document."""

from pathlib import Path

import click

from veil.cli.terminal import NEW, stderr
from veil.core.formatting import count_of
from veil.dpia.load import write_template
from veil.dpia.write import dpia as written


@click.command()
@click.argument("answers", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=NEW,
    default=Path("dpia.html"),
    show_default=True,
    help="what is written: .html, .md, or .json for the PIA software of the CNIL",
)
@click.option("--new", is_flag=True, help="write ANSWERS as a file to fill in, and nothing else")
def dpia(answers: Path, out: Path, new: bool) -> None:
    """Write an impact assessment from answers and measured figures.

    ANSWERS is a TOML file, which names the figures. The risks are those of studies that were run
    (veil audit, veil DOMAIN plane), or of releases of a table that are made and attacked now. What
    is not answered is printed as NOT STATED. It is no legal advice, and no verdict.
    """
    if new:
        stderr().print(f"{write_template(answers)}", markup=False)
        return
    found = written(answers, out)
    gaps = count_of(len(found.gaps), "point")
    stderr().print(f"{out}: {gaps} not stated.", markup=False, soft_wrap=True)
