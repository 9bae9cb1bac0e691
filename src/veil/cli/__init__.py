"""The command ``veil``: run it, and report errors in one sentence without quoting a text."""

import os
import signal
import sys
from contextlib import suppress

import click
from click.exceptions import NoArgsIsHelpError

from veil.cli.commands import COMMANDS, Lazy, leftover_notice, option_suggestion
from veil.core.errors import VeilError, error_location
from veil.core.version import __version__


@click.group(
    cls=Lazy,
    table=COMMANDS,
    former={"attackers": "attacks"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
def veil() -> None:
    """Private information access: protect what leaves, attack it, measure what still leaks."""


def main() -> None:
    """Run the command line; an error is one sentence on stderr and exit code 2."""
    for name in ("SIGTERM", "SIGHUP"):  # to remove unfinished files
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # a second one, while the first was handled
        code = STOPPED
    if code == STOPPED:
        _ignore_stops()
    if "veil.core.parallel" not in sys.modules:  # nothing was computed, so there are no threads
        sys.exit(code)
    from veil.core.parallel import leave

    leave(code)


STOPPED = 130  # exit code


def _ignore_stops() -> None:
    """Ignore a further Ctrl-C, so that the program ends with its exit code.

    A handler in Python would not do, because the interpreter removes it while it exits. SIGTERM
    still ends a program that hangs.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def _stop(number: int, frame: object) -> None:
    del number, frame
    raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code.

    No message quotes a text: of an unexpected error, only its place in the program is reported,
    unless VEIL_DEBUG is set.
    """
    try:
        return int(veil.main(arguments, prog_name="veil", standalone_mode=False) or 0)
    except VeilError as error:
        click.echo(f"veil: {error}", err=True)
        return 2
    except click.ClickException as error:
        _show(error, arguments)
        return 2
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo(f"veil: stopped; {leftover_notice(error)}.", err=True)
        return STOPPED
    except OSError as error:
        reason = error.strerror or type(error).__name__
        click.echo(f"veil: {reason}; {leftover_notice(error)}.", err=True)
        with suppress(OSError, ValueError):  # discard what is still buffered for stdout
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except Exception as error:
        if os.environ.get("VEIL_DEBUG"):
            raise
        message = (
            f"{error_location(error)}; {leftover_notice(error)}. Set VEIL_DEBUG=1 to see more."
        )
        click.echo(f"veil: {message}", err=True)
        return 1


def _show(error: click.ClickException, arguments: list[str]) -> None:
    """Print an error without quoting the arguments; without arguments, print the help."""
    if isinstance(error, NoArgsIsHelpError):
        error.show()
        return
    click.echo(f"veil: {_sentence(error, arguments)}", err=True)


def _sentence(error: click.ClickException, arguments: list[str]) -> str:
    parameter = getattr(error, "param", None)
    if isinstance(error, click.MissingParameter) and parameter is not None:
        return f"Missing {_hint(parameter)}. See --help."
    if isinstance(error, click.BadParameter) and parameter is not None:
        return f"The value of {_hint(parameter)} must be {_expected(parameter.type)}."
    if isinstance(error, click.NoSuchOption):
        near = option_suggestion(arguments, _options(error.ctx))
        return f"Unknown option. Write -- before texts that begin with a dash.{near}"
    if isinstance(error, click.BadOptionUsage):
        return f"The option {error.option_name} is used incorrectly. See --help."
    names = ", ".join(sorted(COMMANDS))
    return f"Unknown command. Available: {names}. See veil --help."


def _options(context: click.Context | None) -> list[str]:
    """Return the flags of a command, without those of its parents, which do not work there."""
    flags: list[str] = []
    for parameter in context.command.get_params(context) if context else ():
        flags += [*parameter.opts, *parameter.secondary_opts]
    return flags


def _hint(parameter: click.Parameter) -> str:
    option = isinstance(parameter, click.Option)
    return parameter.opts[-1] if option else parameter.human_readable_name


def _expected(kind: object) -> str:
    if isinstance(kind, click.Choice):
        return f"one of {', '.join(map(str, kind.choices))}"
    if isinstance(kind, click.IntRange | click.FloatRange):
        low = f" from {kind.min}" if kind.min is not None else ""
        high = f" to {kind.max}" if kind.max is not None else ""
        noun = "an integer" if isinstance(kind, click.IntRange) else "a number"
        return f"{noun}{low}{high}"
    if isinstance(kind, click.Path) and kind.file_okay != kind.dir_okay:
        return "a file, not a folder" if kind.file_okay else "a folder, not a file"
    return "of another type"
