"""Near misses: what was probably meant. What was typed may be a text, and is not quoted."""

import difflib
from collections.abc import Sequence

import click

from veil.core.errors import InputError


def meant(typed: str, names: Sequence[str]) -> str:
    """Return ' Did you mean ...?' with the name that is nearest, or nothing."""
    folded = {name.casefold().lstrip("-"): name for name in names}
    word = typed.casefold().lstrip("-").replace("_", "-")
    begun = [name for name in folded if len(word) > 2 and name.startswith(word)]
    found = begun or difflib.get_close_matches(word, folded, n=1)
    return f" Did you mean {folded[found[0]]}?" if found else ""


def meant_option(arguments: Sequence[str], options: Sequence[str]) -> str:
    """Return the hint for the first argument that looks like an option and is none."""
    long = [option for option in options if option.startswith("--")]
    for argument in arguments:
        name = argument.partition("=")[0]
        if name.startswith("-") and name.strip("-") and name not in options:
            return meant(name, long)
    return ""


class Commands(click.Group):
    """Commands by name; for one that there is not, the nearest is suggested."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed."""
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            raise InputError(
                f"The command is not understood. Known: {', '.join(known)};"
                f" see {ctx.command_path} --help.{meant(args[0], known)}"
            )
        return super().resolve_command(ctx, args)
