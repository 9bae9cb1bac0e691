"""``veil attacks``, ``engines``, ``measures``, ``mechanisms``: names and parameters."""

from typing import Any

import click

from veil.cli.commands import COMMANDS, TEXT, Lazy
from veil.cli.listing import show_components, show_mechanisms
from veil.core.registry import Registry
from veil.encoders import ENCODERS
from veil.measures import EVERYWHERE
from veil.search.engines import ENGINES
from veil.text.attacks import ATTACKS
from veil.text.measures import MEASURES
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
def attacks(names: tuple[str, ...], as_json: bool) -> None:
    """List attacks on texts and their parameters.

    With NAMES, only those.
    """
    show_components({"attacks": ATTACKS}, "attack", names, as_json=as_json)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
def engines(names: tuple[str, ...], as_json: bool) -> None:
    """List engines and encoders and their parameters.

    With NAMES, only those.
    """
    known: dict[str, Registry[Any]] = {"engines": ENGINES, "encoders": ENCODERS}
    show_components(known, "engine or encoder", names, as_json=as_json)


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--json", "as_json", is_flag=True, help="print JSON, with a schema or a sentence each"
)
def measures(names: tuple[str, ...], as_json: bool) -> None:
    """List measures and their parameters.

    With NAMES, only those.
    """
    show_components(
        {"texts and variants": MEASURES}, "measure", names, as_json=as_json, sentences=EVERYWHERE
    )


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema per mechanism")
def mechanisms(names: tuple[str, ...], as_json: bool) -> None:
    """List mechanisms, their parameters and what is proved.

    With NAMES, only those; what is not proved is listed, too.
    """
    show_mechanisms(TEXT_MECHANISMS, names, as_json=as_json)
    if not as_json:
        click.echo("Budgets add up: words x variants x epsilon (sequential composition).")


text = Lazy(
    "text",
    table={name: COMMANDS[name] for name in TEXT},
    domains=False,
    help="Texts and queries: protect, attack and explain them.\n\nEach command also works without"
    " 'text': 'veil protect' is short for 'veil text protect'.",
)
