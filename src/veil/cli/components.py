"""``veil attacks``, ``engines``, ``measures`` and ``mechanisms``: names and parameters.

Registries are imported by the command that lists them, so that help starts at once.
"""

from typing import Any

import click

from veil.cli.commands import COMMANDS, TEXT, Lazy


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the schema of each.")
def attacks(names: tuple[str, ...], as_json: bool) -> None:
    """List attacks on texts and their parameters.

    NAMES limit the list.
    """
    from veil.cli.listing import show_components
    from veil.text.attacks import ATTACKS

    show_components({"attacks": ATTACKS}, "attack", names, as_json=as_json)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the schema of each.")
def engines(names: tuple[str, ...], as_json: bool) -> None:
    """List engines and encoders and their parameters.

    NAMES limit the list.
    """
    from veil.cli.listing import show_components
    from veil.encoders import ENCODERS
    from veil.search.engines import ENGINES

    registries: dict[str, Any] = {"engines": ENGINES, "encoders": ENCODERS}
    show_components(registries, "engine or encoder", names, as_json=as_json)


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, with the schema or description of each."
)
def measures(names: tuple[str, ...], as_json: bool) -> None:
    """List measures and their parameters.

    NAMES limit the list.
    """
    from veil.cli.listing import show_components
    from veil.measures import EVERYWHERE
    from veil.text.measures import MEASURES

    show_components(
        {"texts and variants": MEASURES}, "measure", names, as_json=as_json, sentences=EVERYWHERE
    )


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the schema of each.")
def mechanisms(names: tuple[str, ...], as_json: bool) -> None:
    """List mechanisms, their parameters and guarantees.

    NAMES limit the list. It also shows what is not proved.
    """
    from veil.cli.listing import show_mechanisms
    from veil.text.mechanisms.catalogue import TEXT_MECHANISMS

    show_mechanisms(TEXT_MECHANISMS, names, as_json=as_json)
    if not as_json:
        click.echo("Costs add up: words x variants x epsilon (sequential composition).")


text = Lazy(
    "text",
    table={name: COMMANDS[name] for name in TEXT},
    domains=False,
    help="Texts and queries: protect, attack and explain them.\n\nEach command also works without"
    " 'text': 'veil protect' is the same as 'veil text protect'.",
)
