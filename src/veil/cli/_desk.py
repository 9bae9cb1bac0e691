"""How a private search is made, from the engine to the budget: flags of its two doors."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypedDict

import click

from veil.cli._engine import engine_options
from veil.core.errors import ParameterError


class DeskFlags(TypedDict):
    """What both doors hand on to `veil.proxy.opening.open_desk`."""

    engine: str
    collection: str | None
    encoder: str
    letters: float
    k: int
    vectors: str
    log: str | None
    budget: float | None
    bits: float | None
    spread: float
    bound: int | None
    on_bound: Literal["again", "more", "refuse"]
    gate: Path | None


def _limit(context: click.Context, parameter: click.Parameter, given: str) -> float | None:
    del context
    if given.strip().lower() == "none":
        return None
    try:
        limit = float(given)
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit > 0):
        raise ParameterError(f"The --{parameter.name} must be a number > 0, or none.")
    return limit


_OPTIONS = (
    click.option(
        "--letters",
        type=click.FloatRange(0, 10),
        default=0.2,
        show_default=True,
        help="weight of the words and letters that a result shares with the query, beside the"
        " encoder",
    ),
    click.option(
        "--log", help="queries for the local attackers, a file  [default: those of the collection]"
    ),
    click.option(
        "--budget",
        metavar="FLOAT|none",
        default="10000",
        show_default=True,
        callback=_limit,
        help="what may be spent in 24 hours, by all searches: epsilon x words x variants, added"
        " up",
    ),
    click.option(
        "--bits",
        metavar="FLOAT|none",
        default="300",
        show_default=True,
        callback=_limit,
        help="the same for cover: bits of leakage, counted for each query whose group is sent,"
        " once",
    ),
    click.option(
        "--spread",
        type=click.FloatRange(0, 600),
        default=0.0,
        show_default=True,
        help="seconds over which the variants of a query are sent",
    ),
    click.option(
        "--bound",
        type=click.IntRange(1),
        metavar="RANK",
        help="the query must stand below this rank among the guesses of a local attacker",
    ),
    click.option(
        "--on-bound",
        type=click.Choice(["again", "more", "refuse"]),
        default="refuse",
        show_default=True,
        help="what to do where it does not: draw again, add variants, or refuse",
    ),
    click.option(
        "--gate",
        type=click.Path(path_type=Path),
        help="rules that refuse queries, or let them pass in clear on request (.toml)",
    ),
)

Command = Callable[..., Any]


def desk_options(command: Command) -> Command:
    """Add the flags of the engine, and those of the ledger, the attackers and the rules."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return engine_options(command)
