"""``veil measures``: names and parameters of the measures."""

import click

from veil.cli._listing import show_components
from veil.measures import EVERYWHERE
from veil.text.measures import MEASURES


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--json", "as_json", is_flag=True, help="print JSON, with a schema or a sentence each"
)
def measures(names: tuple[str, ...], as_json: bool) -> None:
    """List measures with their parameters, or those of NAMES alone."""
    show_components(
        {"texts and variants": MEASURES}, "measure", names, as_json=as_json, sentences=EVERYWHERE
    )
