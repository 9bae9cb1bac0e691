"""``veil dp oracles``: how values can be reported under local differential privacy."""

import click

from veil.cli.listing import show_mechanisms
from veil.dp.local.oracles import ORACLES


@click.command("oracles")
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
def oracles(names: tuple[str, ...], as_json: bool) -> None:
    """List oracles, their parameters, what is proved and what is not."""
    show_mechanisms(ORACLES, names, as_json=as_json)
