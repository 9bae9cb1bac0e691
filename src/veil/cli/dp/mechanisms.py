"""``veil dp mechanisms``: names, parameters, what is proved and what is not."""

import click

from veil.cli.listing import show_mechanisms
from veil.dp.mechanisms import MECHANISMS


@click.command("mechanisms")
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
def mechanisms(names: tuple[str, ...], as_json: bool) -> None:
    """List mechanisms for numbers, their parameters, what is proved and what is not."""
    show_mechanisms(MECHANISMS, names, as_json=as_json)
    if not as_json:
        click.echo("Releases of the same data add up: see 'veil dp compose'.")
