"""The table of commands: the module, group and summary of each; modules are loaded on demand.

A new command is one file and one row. A test checks that each summary is the first sentence of
the command's help.
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
    """The target ``module:name`` of a command, its section of the help, and its summary."""

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
        "Print the shell script that completes commands, options and specs.",
    ),
    "cover": Row(
        "veil.cli.cover:cover",
        "Search",
        "Build tables of cover groups, and show what would be sent.",
    ),
    "dpia": Row(
        "veil.dpia.api:dpia",
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
        "List mechanisms, their parameters and guarantees.",
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
"""Commands of ``veil text`` that also work without ``text``."""


def suggestion(typed: str, names: Sequence[str]) -> str:
    """Return ' Did you mean ...?' with the nearest name, or an empty string."""
    folded = {name.casefold().lstrip("-"): name for name in names}
    word = typed.casefold().lstrip("-").replace("_", "-")
    begun = [name for name in folded if len(word) > 2 and name.startswith(word)]
    matches = begun or difflib.get_close_matches(word, folded, n=1)
    return f" Did you mean {folded[matches[0]]}?" if matches else ""


def option_suggestion(arguments: Sequence[str], options: Sequence[str]) -> str:
    """Return a suggestion for the first unknown option, or an empty string."""
    long = [option for option in options if option.startswith("--")]
    for argument in arguments:
        name = argument.partition("=")[0]
        if name.startswith("-") and name.strip("-") and name not in options:
            return suggestion(name, long)
    return ""


class Commands(click.Group):
    """Group of commands that suggests the nearest name for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or raise an error with a suggestion."""
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            raise InputError(
                f"Unknown command. Available: {', '.join(names)}."
                f" See {ctx.command_path} --help.{suggestion(args[0], names)}"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List all commands with their full summaries."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(_WHOLE))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


_WHOLE = 10_000  # characters: no summary is cut


class Lazy(Commands):
    """Group of commands from a table, and optionally the domains; help loads none of them.

    `former` maps former names of commands to current ones.
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
        """Return all names in order."""
        del ctx
        return sorted({*self._table, *_domains()}) if self._domains else list(self._table)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, also for a former name."""
        if args and args[0] in {*self._table, *self._former, *DOMAINS}:  # no search for plugins
            return args[0], self.get_command(ctx, args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load and return a command."""
        if cmd_name in self._former:
            from veil.cli.former import say_renamed

            say_renamed(cmd_name, self._former[cmd_name])
            return self.get_command(ctx, self._former[cmd_name])
        if cmd_name not in self._table:
            return _domain(cmd_name)
        module, _, name = self._table[cmd_name].place.partition(":")
        verb = getattr(import_module(module), name)
        if isinstance(verb, click.Command):
            return verb
        from veil.cli.verb import VerbCommand  # slow to load; other commands do not need it

        return VerbCommand(cmd_name, verb, {})

    def _says(self, name: str) -> str:
        return self._table[name].says if name in self._table else _domains()[name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of each group with their summaries."""
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
    """Return the summary of each domain, without loading any."""
    from importlib.metadata import entry_points  # slow to load, and most commands need no plugin

    plugins = {point.name: f"Domain from {point.module}." for point in entry_points(group=GROUP)}
    return plugins | {name: row.says for name, row in DOMAINS.items()}


def _domain(name: str) -> click.Command | None:
    if name not in DOMAINS and name not in _domains():
        return None
    from veil.cli.domain import domain_group

    return domain_group(name)


_NOTHING = "no file was written"
_KEPT = ("finished results are kept", "what is done is kept")  # starts of notes
_SENT = "variants may have been sent and count as released"


@contextmanager
def count_as_sent() -> Iterator[None]:
    """Mark any error or interrupt inside as one after which variants may have been sent."""
    try:
        yield
    except BaseException as error:
        error.add_note(_SENT)
        raise


def leftover_notice(error: BaseException) -> str:
    """Return what an interrupted command left behind: files, sent variants, or nothing."""
    causes = (error, error.__cause__)  # an interrupt is the cause of click's own error
    notes = [note for cause in causes for note in getattr(cause, "__notes__", ())]
    return next((note for note in notes if note == _SENT or note.startswith(_KEPT)), _NOTHING)
