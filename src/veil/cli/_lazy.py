"""A group of commands that loads each one when it is run; domains are commands, too."""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import click

from veil.cli._near import Commands
from veil.cli._table import Row
from veil.studies import DOMAINS, GROUP

_SHORT = 45  # letters that a sentence in a list has at least, however narrow the screen


class Lazy(Commands):
    """Commands of a table of names; help lists them without loading any."""

    def __init__(self, *arguments: Any, table: Mapping[str, Row], **named: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*arguments, **named)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in order."""
        del ctx
        return sorted({*self._table, *_domains()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        del ctx
        if cmd_name not in self._table:
            return _domain(cmd_name)
        module, _, name = self._table[cmd_name].place.partition(":")
        found = getattr(import_module(module), name)
        return found if isinstance(found, click.Command) else None

    def _says(self, name: str) -> str:
        return self._table[name].says if name in self._table else _domains()[name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the first sentence of each, cut as click does."""
        names = self.list_commands(ctx)
        room = max(_SHORT, formatter.width - 6 - max(map(len, names)))
        rows = [
            (name, click.Command(name, help=self._says(name)).get_short_help_str(room))
            for name in names
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _domains() -> dict[str, str]:
    """Return the domains that have commands of their own, without loading any."""
    plugins = {point.name: f"A domain of {point.module}." for point in entry_points(group=GROUP)}
    return plugins | {name: row.says for name, row in DOMAINS.items()}


def _domain(name: str) -> click.Command | None:
    if name not in _domains():
        return None
    from veil.cli.domain import domain_group

    return domain_group(name)
