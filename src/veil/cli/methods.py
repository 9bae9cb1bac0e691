"""Mechanisms of a domain on the screen: parameters, what is proved and what is not."""

import json
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from veil.cli.flags import kind_of
from veil.cli.terminal import stdout
from veil.core.component import example, summary
from veil.core.errors import VeilError
from veil.core.guarantee import KINDS, Guarantee
from veil.studies.domains import OTHER
from veil.studies.experiment import Methods


def show_methods(methods: Methods, names: tuple[str, ...], *, as_json: bool) -> None:
    """Print all mechanisms, or those that are named alone."""
    told, broken = {}, {}
    for name in names or methods.names():
        try:
            told[name] = (methods.get(name), example(methods.get(name)).guarantee)
        except VeilError as error:
            if names:
                raise
            broken[name] = str(error)  # of a plugin: the others are listed
    if as_json:
        shown: dict[str, object] = {name: _as_dict(*entry) for name, entry in told.items()}
        click.echo(json.dumps(shown | broken, indent=1))
        return
    console = stdout()
    for entry in told.values():
        _show(console, *entry)
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


def _show(console: Console, cls: type[Any], guarantee: Guarantee) -> None:
    console.print(f"[bold]{cls.name}[/bold]  {escape(summary(cls))}", soft_wrap=True)
    if paper := getattr(cls, "paper", ""):
        console.print(f"  [dim]{escape(paper)}[/dim]", soft_wrap=True)
    for key, field in cls.model_fields.items():
        note = "required" if field.is_required() else f"default {field.default}"
        more = ", more is more private" if cls.direction(key) == "private" else ""
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
