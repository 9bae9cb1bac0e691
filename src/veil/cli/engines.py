"""``veil engines``: names and parameters of the engines and encoders."""

from typing import Any

import click

from veil.cli._listing import show_components
from veil.core.registry import Registry
from veil.encoders import ENCODERS
from veil.search.engines import ENGINES


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
def engines(names: tuple[str, ...], as_json: bool) -> None:
    """List engines and encoders with their parameters, or those of NAMES alone."""
    known: dict[str, Registry[Any]] = {"engines": ENGINES, "encoders": ENCODERS}
    show_components(known, "engine or encoder", names, as_json=as_json)
