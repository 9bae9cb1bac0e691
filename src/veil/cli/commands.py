"""The commands: a table of where each one is, loaded when it is run; near misses.

The commands: where each one is, and what it does in a sentence. They are loaded when asked for.
A new command is one file and one row. The sentences are those of the commands themselves; a test
compares them.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

import click

from veil.core.errors import InputError
from veil.studies import DOMAINS, GROUP


class Row(NamedTuple):
    """Where a command is, as ``module:name``, and its first sentence."""

    place: str
    says: str


COMMANDS: dict[str, Row] = {
    "attack": Row(
        "veil.cli.attack:attack",
        "Attack VARIANTS, a file with columns id, text and obfuscatedText.",
    ),
    "attackers": Row(
        "veil.cli.components:attackers",
        "List attackers with their parameters, or those of NAMES alone.",
    ),
    "audit": Row(
        "veil.cli.audit:audit",
        "Sweep the mechanisms of STUDY, a TOML file, attack them, and write a report.",
    ),
    "choose": Row(
        "veil.cli.studies:choose",
        "Choose the mechanism and parameters with the best utility under a bound on the risk.",
    ),
    "cover": Row(
        "veil.cli.cover:cover",
        "Build tables of cover groups for private search, and see what would be sent.",
    ),
    "dpia": Row(
        "veil.cli.dpia:dpia",
        "Write the impact assessment of ANSWERS, a TOML file, and of the figures that it names.",
    ),
    "engines": Row(
        "veil.cli.components:engines",
        "List engines and encoders with their parameters, or those of NAMES alone.",
    ),
    "explain": Row(
        "veil.cli.explain:explain",
        "Say what MECHANISM does to WORDS: exactly if its law is known, else by simulation.",
    ),
    "fetch": Row(
        "veil.cli.fetch:fetch",
        "Fetch NAMES into the cache: word vectors, encoders, collections, wordnet.",
    ),
    "gate": Row(
        "veil.cli.gate:gate",
        "Write rules for the search page (veil serve --gate), and try them out.",
    ),
    "index": Row(
        "veil.cli.index:index",
        "Index the documents of SOURCE: JSONL, TSV or TREC files, irds:ID, or a folder.",
    ),
    "ledger": Row(
        "veil.cli.ledger:ledger",
        "See, export or forget what searches released; queries themselves are not in it.",
    ),
    "measures": Row(
        "veil.cli.components:measures",
        "List measures with their parameters, or those of NAMES alone.",
    ),
    "mechanisms": Row(
        "veil.cli.components:mechanisms",
        "List mechanisms, their parameters, what is proved and what is not.",
    ),
    "protect": Row(
        "veil.cli.protect:protect",
        "Release variants of TEXTS: texts with a space in them (or by --text), one file (CSV,"
        " TSV, JSONL, Parquet, plain text, also .gz), or - for standard input.",
    ),
    "restore": Row(
        "veil.cli.restore:restore",
        "Put the personal data behind the pseudonyms of RELEASED back, by the map of that run.",
    ),
    "score": Row(
        "veil.cli.score:score",
        "Score VARIANTS and the runs that answer them: the plane and the QuIPU table.",
    ),
    "search": Row(
        "veil.cli.search:search",
        "Search for QUERY (- reads it from standard input); only variants of it are sent.",
    ),
    "serve": Row(
        "veil.cli.serve:serve",
        "Open a search page on this machine; engines see variants of what is searched for.",
    ),
    "token": Row(
        "veil.cli.token:token",
        "Print the token of the search page, for its form and for programs.",
    ),
    "vectors": Row(
        "veil.cli.fetch:vectors",
        "List word vectors, or fetch and convert NAMES now.",
    ),
}


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
