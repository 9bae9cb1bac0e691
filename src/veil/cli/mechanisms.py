"""``veil mechanisms``: names, parameters, what is proved and what is not."""

import click

from veil.cli.methods import show_methods
from veil.text.mechanisms.find import TEXT_MECHANISMS


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema per mechanism")
def mechanisms(names: tuple[str, ...], as_json: bool) -> None:
    """List mechanisms, their parameters, what is proved and what is not."""
    show_methods(TEXT_MECHANISMS, names, as_json=as_json)
    if not as_json:
        click.echo("Budgets add up: words x variants x epsilon (sequential composition).")
