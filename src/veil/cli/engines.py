"""``veil engines``: names and parameters of the engines and encoders."""

import json
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from veil.cli._family import kind_of
from veil.core.component import Component
from veil.core.errors import MissingExtraError
from veil.core.registry import Registry
from veil.encoders import ENCODERS
from veil.retrieval.engines import ENGINES


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema each")
def engines(as_json: bool) -> None:
    """List engines, encoders, and their parameters."""
    families = {
        "engines": {name: _load(ENGINES, name) for name in ENGINES.names()},
        "encoders": {name: _load(ENCODERS, name) for name in ENCODERS.names()},
    }
    if as_json:
        document = {
            family: {
                name: found if isinstance(found, str) else found.model_json_schema()
                for name, found in members.items()
            }
            for family, members in families.items()
        }
        click.echo(json.dumps(document, indent=1))
        return
    console = Console(highlight=False)
    for family, members in families.items():
        console.print(f"[bold]{family.upper()}[/bold]")
        for name, found in members.items():
            _show(console, name, found)
        console.print()


def _load(registry: Registry[Any], name: str) -> type[Component] | str:
    """Return the class of that name, or the sentence that says what it needs."""
    try:
        found: type[Component] = registry.get(name)
    except MissingExtraError as error:
        return str(error)
    return found


def _show(console: Console, name: str, found: type[Component] | str) -> None:
    summary = found if isinstance(found, str) else (found.__doc__ or "").strip().splitlines()[0]
    console.print(f"[bold]{name}[/bold]  {escape(summary)}", soft_wrap=True)
    fields = {} if isinstance(found, str) else found.model_fields
    for key, field in fields.items():
        default = "required" if field.is_required() else f"default {field.default!r}"
        console.print(
            f"  {key} [dim]{escape(kind_of(field))}, {escape(default)}[/dim]:"
            f" {escape(field.description or '')}",
            soft_wrap=True,
        )
