"""The commands are a table, and loaded when they are asked for."""

import subprocess
import sys

import click
import pytest

from veil.cli import veil
from veil.cli.commands import COMMANDS
from veil.studies import DOMAINS

LOOK = """
import sys
from veil.cli import run
code = run({arguments!r})
loaded = [name for name in ("numpy", "pydantic", "veil.api", "veil.text.mechanisms") if name in sys.modules]
print(code, loaded)
"""  # noqa: E501


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    context = click.Context(veil)
    command = veil.get_command(context, name)
    assert command is not None
    assert command.name == name
    assert COMMANDS[name].says == command.get_short_help_str(1000)


def test_names_that_are_not_there() -> None:
    context = click.Context(veil)
    assert veil.get_command(context, "protct") is None
    assert veil.list_commands(context) == sorted({*COMMANDS, *DOMAINS})  # a domain is one, too


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["protct"]])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(arguments=arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    code = 2 if arguments == ["protct"] else 0
    assert done.stdout.splitlines()[-1] == f"{code} []"


def test_help_fits_narrow_screens() -> None:
    context = click.Context(veil, info_name="veil", terminal_width=60)
    told = veil.get_help(context)
    assert max(map(len, told.splitlines())) <= 70
    for name in COMMANDS:
        assert f"  {name} " in told
