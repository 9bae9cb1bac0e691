"""The commands: a table of where each one is, loaded when it is run; near misses.

The commands: where each one is, and what it does in a sentence. They are loaded when asked for.
A new command is one file and one row. The sentences are those of the commands; a test compares
them.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from veil.core.errors import InputError
from veil.studies import DOMAINS, GROUP

GROUPS = ("Search", "Text", "Data", "Studies", "Service")  # sections of the help, in order


class Row(NamedTuple):
    """Where a command is, as ``module:name``, its section of the help, and its first sentence."""

    place: str
    group: str
    says: str


COMMANDS: dict[str, Row] = {
    "attack": Row(
        "veil.cli.attack:attack",
        "Text",
        "Attack variants and report what could be inferred.",
    ),
    "attacks": Row(
        "veil.cli.components:attacks",
        "Text",
        "List attacks on texts and their parameters.",
    ),
    "audit": Row(
        "veil.cli.audit:audit",
        "Studies",
        "Run a study: protect, attack, measure, write a report.",
    ),
    "choose": Row(
        "veil.cli.studies:choose",
        "Studies",
        "Choose the most useful mechanism under a bound on the risk.",
    ),
    "completion": Row(
        "veil.cli.completion:completion",
        "Service",
        "Print the script that completes commands, options and specs in a shell.",
    ),
    "cover": Row(
        "veil.cli.cover:cover",
        "Search",
        "Build tables of cover groups, and see what would be sent.",
    ),
    "dpia": Row(
        "veil.cli.dpia:dpia",
        "Studies",
        "Write an impact assessment from answers and measured figures.",
    ),
    "engines": Row(
        "veil.cli.components:engines",
        "Search",
        "List engines and encoders and their parameters.",
    ),
    "explain": Row(
        "veil.cli.explain:explain",
        "Text",
        "Show what a mechanism does to words.",
    ),
    "fetch": Row(
        "veil.cli.fetch:fetch",
        "Service",
        "Download word vectors, encoders, collections or WordNet.",
    ),
    "gate": Row(
        "veil.cli.gate:gate",
        "Search",
        "Write and test rules that hold back queries.",
    ),
    "index": Row(
        "veil.cli.index:index",
        "Search",
        "Index your own documents for search.",
    ),
    "ledger": Row(
        "veil.cli.ledger:ledger",
        "Search",
        "Show, export or forget what searches released.",
    ),
    "measures": Row(
        "veil.cli.components:measures",
        "Text",
        "List measures and their parameters.",
    ),
    "mechanisms": Row(
        "veil.cli.components:mechanisms",
        "Text",
        "List mechanisms, their parameters and what is proved.",
    ),
    "protect": Row(
        "veil.cli.protect:protect",
        "Text",
        "Release variants of texts or of a file of texts.",
    ),
    "restore": Row(
        "veil.cli.restore:restore",
        "Text",
        "Put personal data back in place of its pseudonyms.",
    ),
    "score": Row(
        "veil.cli.score:score",
        "Studies",
        "Place your own variants and runs on the plane.",
    ),
    "search": Row(
        "veil.cli.search:search",
        "Search",
        "Search by sending only variants of a query.",
    ),
    "serve": Row(
        "veil.cli.serve:serve",
        "Service",
        "Open the private search page on this machine.",
    ),
    "text": Row(
        "veil.cli.components:text",
        "Text",
        "Texts and queries: protect, attack and explain them.",
    ),
    "token": Row(
        "veil.cli.token:token",
        "Service",
        "Print the access token of the search page.",
    ),
    "vectors": Row(
        "veil.cli.fetch:vectors",
        "Text",
        "List word vectors, or fetch and convert them.",
    ),
}

TEXT = ("protect", "attack", "explain", "restore", "mechanisms", "attacks", "measures", "vectors")
"""Commands that are short for ``veil text ...``."""


def suggestion(typed: str, names: Sequence[str]) -> str:
    """Return ' Did you mean ...?' with the name that is nearest, or nothing."""
    folded = {name.casefold().lstrip("-"): name for name in names}
    word = typed.casefold().lstrip("-").replace("_", "-")
    begun = [name for name in folded if len(word) > 2 and name.startswith(word)]
    found = begun or difflib.get_close_matches(word, folded, n=1)
    return f" Did you mean {folded[found[0]]}?" if found else ""


def option_suggestion(arguments: Sequence[str], options: Sequence[str]) -> str:
    """Return the hint for the first argument that looks like an option and is none."""
    long = [option for option in options if option.startswith("--")]
    for argument in arguments:
        name = argument.partition("=")[0]
        if name.startswith("-") and name.strip("-") and name not in options:
            return suggestion(name, long)
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
                f" see {ctx.command_path} --help.{suggestion(args[0], known)}"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List all commands with their whole first sentences."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(_WHOLE))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


_WHOLE = 10_000  # characters; no sentence is cut


class Lazy(Commands):
    """Commands of a table of names, and perhaps the domains; help lists them without loading any.

    `former` maps former names of commands to those of today.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - click's own
        table: Mapping[str, Row],
        former: Mapping[str, str] = MappingProxyType({}),
        domains: bool = True,
        **named: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__(*arguments, **named)
        self._table, self._former, self._domains = table, former, domains

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in order."""
        del ctx
        return sorted({*self._table, *_domains()}) if self._domains else list(self._table)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed, also by its former name."""
        if args and args[0] in {*self._table, *self._former, *DOMAINS}:  # no plugin is looked for
            return args[0], self.get_command(ctx, args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name in self._former:
            from veil.cli.former import say_renamed

            say_renamed(cmd_name, self._former[cmd_name])
            return self.get_command(ctx, self._former[cmd_name])
        if cmd_name not in self._table:
            return _domain(cmd_name)
        module, _, name = self._table[cmd_name].place.partition(":")
        found = getattr(import_module(module), name)
        return found if isinstance(found, click.Command) else None

    def _says(self, name: str) -> str:
        return self._table[name].says if name in self._table else _domains()[name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of each group with their first sentences."""
        names = self.list_commands(ctx)
        width = max(map(len, names))
        for group in GROUPS:
            rows = [
                (name.ljust(width), self._says(name))
                for name in names
                if group == (self._table[name].group if name in self._table else "Data")
            ]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


def _domains() -> dict[str, str]:
    """Return the domains that have commands of their own, without loading any."""
    from importlib.metadata import entry_points  # slow to load, and most commands need no plugin

    plugins = {point.name: f"A domain of {point.module}." for point in entry_points(group=GROUP)}
    return plugins | {name: row.says for name, row in DOMAINS.items()}


def _domain(name: str) -> click.Command | None:
    if name not in DOMAINS and name not in _domains():
        return None
    from veil.cli.domain import domain_group

    return domain_group(name)


_NOTHING = "no file was written"
_SENT = "variants may have been sent, and count as released"


@contextmanager
def count_as_sent() -> Iterator[None]:
    """Let whatever ends the work inside, an interrupt too, be told as after a sending."""
    try:
        yield
    except BaseException as error:
        error.add_note(_SENT)
        raise


def leftover_notice(error: BaseException) -> str:
    """Say what the work that an error ended left behind."""
    both = (error, error.__cause__)  # an interrupt is the cause of click's own error
    sent = any(_SENT in getattr(each, "__notes__", ()) for each in both)
    return _SENT if sent else _NOTHING
