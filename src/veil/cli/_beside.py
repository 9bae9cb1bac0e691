"""A command with others beside it."""

from collections.abc import Mapping
from typing import Any

import click


class Beside(click.Command):
    """Does its own work, unless the first argument names one of `commands`.

    A file that is called like one of them is named by its path: ``./claims``. It is no group of
    click, whose options must stand before its arguments, and which ignores what it cannot use.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - click's own
        commands: Mapping[str, click.Command],
        **named: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*arguments, **named)
        self.commands = commands

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401
    ) -> click.Context:
        """Hand the arguments to the command that is named, or take them."""
        if args and (named := self.commands.get(args[0])):
            return named.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, then the commands beside it."""
        super().format_options(ctx, formatter)
        room = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(room)) for name, each in self.commands.items()]
            )
