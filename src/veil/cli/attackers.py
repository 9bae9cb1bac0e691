"""``veil attackers``: names and parameters of the attackers."""

import click

from veil.cli._listing import show_components
from veil.text.attacks import ATTACKS


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
def attackers(names: tuple[str, ...], as_json: bool) -> None:
    """List attackers with their parameters, or those of NAMES alone."""
    show_components({"attackers": ATTACKS}, "attacker", names, as_json=as_json)
