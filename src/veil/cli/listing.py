"""Print components: their parameters and guarantees."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from veil.cli.flags import kind_of
from veil.cli.terminal import stdout
from veil.core.component import Component, example, summary
from veil.core.errors import VeilError
from veil.core.guarantee import KINDS, Guarantee
from veil.core.registry import Registry, unknown_name
from veil.studies.domains import OTHER
from veil.studies.experiment import Methods


def show_components(
    registries: Mapping[str, Registry[Any]],
    noun: str,
    names: tuple[str, ...],
    *,
    as_json: bool,
    sentences: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> None:
    """Print the components of the registries, or only those in `names`.

    `sentences` are descriptions of parts that have neither a class nor parameters.
    """
    tables = {
        **{family: registry.names() for family, registry in registries.items()},
        **sentences,
    }
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
                name: component if isinstance(component, str) else component.model_json_schema()
                for name, component in members.items()
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
        for name, component in members.items():
            _show_component(console, name, component)
        console.print()


def _load(registry: Registry[Any], name: str) -> type[Component] | str:
    """Return the class of that name, or the message of the error if it cannot be loaded."""
    try:
        cls: type[Component] = registry.get(name)
    except VeilError as error:  # an extra is missing, or it is broken: the others are listed
        return str(error)
    return cls


def _show_component(console: Console, name: str, component: type[Component] | str) -> None:
    description = component if isinstance(component, str) else summary(component)
    console.print(f"[bold]{name}[/bold]  {escape(description)}", soft_wrap=True)
    fields = {} if isinstance(component, str) else component.model_fields
    for key, field in fields.items():
        default = "required" if field.is_required() else f"default {field.default!r}"
        console.print(
            f"  {key} [dim]{escape(kind_of(field))}, {escape(default)}[/dim]:"
            f" {escape(field.description or '')}",
            soft_wrap=True,
        )


def show_mechanisms(mechanisms: Methods, names: tuple[str, ...], *, as_json: bool) -> None:
    """Print all mechanisms with their guarantees, or only those in `names`."""
    entries, broken = {}, {}
    for name in names or mechanisms.names():
        try:
            entries[name] = (mechanisms.get(name), example(mechanisms.get(name)).guarantee)
        except VeilError as error:
            if names:
                raise
            broken[name] = str(error)  # a broken plugin: the others are listed
    if as_json:
        shown: dict[str, object] = {name: _as_dict(*entry) for name, entry in entries.items()}
        click.echo(json.dumps(shown | broken, indent=1))
        return
    console = stdout()
    for entry in entries.values():
        _show_mechanism(console, *entry)
    for name, sentence in broken.items():
        console.print(f"[bold]{name}[/bold]  [yellow]{escape(sentence)}[/yellow]\n")


def _as_dict(cls: type[Any], guarantee: Guarantee) -> dict[str, object]:
    return {
        "paper": getattr(cls, "paper", ""),
        "summary": summary(cls),
        "family": getattr(cls, "family", OTHER),
        "needs": sorted(getattr(cls, "needs", ())),
        "select": getattr(cls, "select", None),
        "example": str(example(cls)),
        "guarantee": {
            "kind": guarantee.kind,
            "means": KINDS[guarantee.kind],
            "metric": guarantee.metric,
            "neighbours": guarantee.neighbours,
            "caveat": guarantee.caveat,
        },
        "schema": cls.model_json_schema(),
    }


def _show_mechanism(console: Console, cls: type[Any], guarantee: Guarantee) -> None:
    console.print(f"[bold]{cls.name}[/bold]  {escape(summary(cls))}", soft_wrap=True)
    if paper := getattr(cls, "paper", ""):
        console.print(f"  [dim]{escape(paper)}[/dim]", soft_wrap=True)
    for key, field in cls.model_fields.items():
        note = "required" if field.is_required() else f"default {field.default}"
        more = ", larger is more private" if cls.direction(key) == "private" else ""
        console.print(
            f"  {key} [dim]{escape(kind_of(field))}, {escape(note)}{more}[/dim]:"
            f" {escape(field.description or '')}",
            soft_wrap=True,
        )
    heading = "[yellow]not proved[/yellow]" if guarantee.kind == "none" else "proved"
    metric = f" (d: {guarantee.metric})" if guarantee.kind in ("metric-dp", "umldp") else ""
    console.print(f"  {heading}: {KINDS[guarantee.kind]}{metric}", soft_wrap=True)
    if guarantee.caveat:
        console.print(f"  note: {escape(guarantee.caveat)}", soft_wrap=True)
    console.print()
