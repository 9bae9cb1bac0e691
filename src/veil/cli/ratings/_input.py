"""Options of commands that read ratings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from veil.core.errors import InputError

FILE = click.Path(path_type=Path, dir_okay=False)
Command = Callable[..., Any]


def with_columns(command: Command) -> Command:
    """Add --columns."""
    return click.option(
        "--columns",
        metavar="USER,ITEM,RATING[,TIME]",
        callback=lambda _, __, text: _columns(text),
        help="how the columns are called, if not user, item, rating, time",
    )(command)


def with_catalogue(command: Command) -> Command:
    """Add --catalogue and --columns."""
    return click.option(
        "--catalogue", type=FILE, help="table of all items that there are, rated or not"
    )(with_columns(command))


def with_scale(command: Command) -> Command:
    """Add --scale and --columns."""
    return click.option(
        "--scale",
        type=float,
        nargs=2,
        metavar="LOW HIGH",
        help="lowest and highest rating there can be; by default the observed ones",
    )(with_columns(command))


def refuse_same(out: Path, *given: Path | None) -> None:
    """Raise if a file to write is one that is read."""
    if any(one is not None and one.resolve() == out.resolve() for one in given):
        raise InputError("The output would replace the input; name another file.")


def _columns(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(","))
