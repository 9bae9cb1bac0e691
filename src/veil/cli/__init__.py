"""The command line: parameters come from the registry, work from the API."""

import os
import sys
import traceback
from pathlib import Path

import click

from veil.cli.explain import explain
from veil.cli.mechanisms import mechanisms
from veil.cli.protect import protect
from veil.cli.vectors import vectors
from veil.core.errors import VeilError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="veil")
def veil() -> None:
    """Private information access: send variants of a text, not the text."""


for command in (explain, mechanisms, protect, vectors):
    veil.add_command(command)


def main() -> None:
    """Run the command line; an error is one sentence on stderr and exit code 2."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code.

    Whatever goes wrong, no message quotes a text: unexpected errors are reported by their place
    in the program alone, unless VEIL_DEBUG is set.
    """
    try:
        return int(veil.main(arguments, prog_name="veil", standalone_mode=False) or 0)
    except VeilError as error:
        click.echo(f"veil: {error}", err=True)
        return 2
    except click.ClickException as error:
        _show(error)
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("veil: stopped; no file was written.", err=True)
        return 130
    except OSError as error:
        reason = error.strerror or type(error).__name__
        click.echo(f"veil: {reason}; no file was written.", err=True)
        return 2
    except Exception as error:
        if os.environ.get("VEIL_DEBUG"):
            raise
        click.echo(f"veil: {_place(error)}", err=True)
        return 1


def _show(error: click.ClickException) -> None:
    """Print one sentence; a command without arguments prints its help instead."""
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and len(error.option_name.split()) > 1:
        message = "No such option; write -- before texts that begin with a dash."
    if "\n" in message:
        error.show()
    else:
        stop = "" if message.endswith((".", "?")) else "."
        click.echo(f"veil: {message}{stop}", err=True)


def _place(error: Exception) -> str:
    """Say where an unexpected error arose; its own message could quote a text."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"internal error ({type(error).__name__} at {Path(frame.filename).name}:{frame.lineno});"
        " no file was written. Set VEIL_DEBUG=1 to see more."
    )
