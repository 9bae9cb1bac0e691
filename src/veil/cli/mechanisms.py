"""``veil mechanisms``: names, parameters, what is proved and what is not."""

import json

import click
from rich.console import Console
from rich.markup import escape

from veil.cli._family import describe, kind_of
from veil.cli._screen import stdout
from veil.core.guarantee import KINDS
from veil.text.mechanisms import find
from veil.text.mechanisms.mechanism import TextMechanism


def example(cls: type[TextMechanism]) -> TextMechanism:
    """Build a mechanism from the examples and defaults of its parameters."""
    values: dict[str, object] = {
        key: (field.examples or [None])[0]
        for key, field in cls.model_fields.items()
        if field.is_required()
    }
    return cls.load(values)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="print JSON, with a schema per mechanism")
def mechanisms(names: tuple[str, ...], as_json: bool) -> None:
    """List mechanisms, their parameters, what is proved and what is not."""
    chosen = [find.mechanism_class(name) for name in names or find.names()]
    if as_json:
        click.echo(json.dumps({cls.name: _as_dict(cls) for cls in chosen}, indent=1))
        return
    console = stdout()
    for cls in chosen:
        _show(console, cls)
    console.print("Budgets add up: words x variants x epsilon (sequential composition).")


def _as_dict(cls: type[TextMechanism]) -> dict[str, object]:
    guarantee = example(cls).guarantee
    return {
        "paper": cls.paper,
        "summary": (cls.__doc__ or "").strip().splitlines()[0],
        "select": getattr(cls, "select", None),
        "example": str(example(cls)),
        "guarantee": {
            "kind": guarantee.kind,
            "means": KINDS[guarantee.kind],
            "metric": guarantee.metric,
            "caveat": guarantee.caveat,
        },
        "schema": cls.model_json_schema(),
    }


def _show(console: Console, cls: type[TextMechanism]) -> None:
    guarantee = example(cls).guarantee
    console.print(f"[bold]{cls.name}[/bold]  {describe(cls).splitlines()[0]}")
    console.print(f"  [dim]{cls.paper}[/dim]")
    for key, field in cls.model_fields.items():
        note = "required" if field.is_required() else f"default {field.default}"
        console.print(
            f"  {key} [dim]{escape(kind_of(field))}, {note}[/dim]: {field.description}",
            soft_wrap=True,
        )
    heading = "[yellow]not proved[/yellow]" if guarantee.kind == "none" else "proved"
    metric = f" (d: {guarantee.metric})" if guarantee.kind in ("metric-dp", "umldp") else ""
    console.print(f"  {heading}: {KINDS[guarantee.kind]}{metric}", soft_wrap=True)
    console.print(f"  note: {guarantee.caveat}\n", soft_wrap=True)
