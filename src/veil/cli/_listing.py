"""Lists of components with their parameters, as several commands print them."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from veil.cli.flags import kind_of
from veil.cli.terminal import stdout
from veil.core.component import Component, summary
from veil.core.errors import VeilError
from veil.core.registry import Registry, unknown_name


def show_components(
    registries: Mapping[str, Registry[Any]],
    noun: str,
    names: tuple[str, ...],
    *,
    as_json: bool,
    sentences: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> None:
    """Print all components of some tables of names, or those that are named alone.

    `sentences` are tables of names that have neither a class nor parameters.
    """
    tables = {**{family: found.names() for family, found in registries.items()}, **sentences}
    every = [name for table in tables.values() for name in table]
    for name in names:
        if name not in every:
            raise unknown_name(noun, name, every)
    families = {
        family: {
            name: sentences[family][name]
            if family in sentences
            else _load(registries[family], name)
            for name in table
            if name in (names or every)
        }
        for family, table in tables.items()
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
    console = stdout()
    for family, members in families.items():
        if not members:
            continue
        console.print(f"[bold]{family.upper()}[/bold]")
        for name, found in members.items():
            _show(console, name, found)
        console.print()


def _load(registry: Registry[Any], name: str) -> type[Component] | str:
    """Return the class of that name, or the sentence that says what it needs."""
    try:
        found: type[Component] = registry.get(name)
    except VeilError as error:  # it lacks something, or is broken: the others are listed
        return str(error)
    return found


def _show(console: Console, name: str, found: type[Component] | str) -> None:
    said = found if isinstance(found, str) else summary(found)
    console.print(f"[bold]{name}[/bold]  {escape(said)}", soft_wrap=True)
    fields = {} if isinstance(found, str) else found.model_fields
    for key, field in fields.items():
        default = "required" if field.is_required() else f"default {field.default!r}"
        console.print(
            f"  {key} [dim]{escape(kind_of(field))}, {escape(default)}[/dim]:"
            f" {escape(field.description or '')}",
            soft_wrap=True,
        )
