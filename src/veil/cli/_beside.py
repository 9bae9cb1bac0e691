"""A command with others beside it."""

from typing import Any

import click


class Beside(click.Group):
    """Does its own work, unless the first argument names one of its commands.

    A file that is called like one of them is named by its path: ``./claims``.
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's own
    ) -> click.Context:
        """Hand the arguments to the command that is named, or take them."""
        if args and (named := self.commands.get(args[0])):
            return named.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    parse_args = click.Command.parse_args  # what follows is its own
    invoke = click.Command.invoke
    collect_usage_pieces = click.Command.collect_usage_pieces
