"""Options that several commands share: protected words, the engine, and the budget."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

import click

from veil.core.errors import ParameterError

if TYPE_CHECKING:
    from veil.text.policy import Policy, Unknown

UNKNOWN = ("random", "drop", "mask", "keep")  # of veil.text.policy.Unknown, which is slow to load

FAR = 0.35  # cosine below which a table covers a query poorly
VECTORS_OPTION = click.Option(
    ["--vectors"],
    default="glove-100d",
    show_default=True,
    help="Word vectors: a name (see 'veil vectors') or a file.",
)

SELECT_OPTIONS: list[click.Parameter] = [
    click.Option(
        ["--unknown"],
        type=click.Choice(UNKNOWN),
        default="random",
        show_default=True,
        help="How to handle words that are not in the vectors.",
    ),
    click.Option(
        ["--policy"],
        multiple=True,
        metavar="KIND=WHAT",
        help="How to handle one kind of token (number, email, url, identifier or symbol): replace,"
        " drop, mask or keep. Repeatable.",
    ),
    click.Option(
        ["--select"],
        help="Words to protect: all, content, 'pos:NN JJ', or @FILE with terms."
        "  [default: the mechanism's own choice]",
    ),
]


def policies_of(values: tuple[str, ...]) -> "dict[str, Policy]":
    """Return the policy of each kind of token from the values of --policy."""
    policies: dict[str, Policy] = {}
    for value in values:
        kind, equals, policy = value.partition("=")
        if not equals:
            raise ParameterError("--policy must be KIND=WHAT, such as number=mask.")
        policies[kind] = cast("Policy", policy)  # checked by protect
    return policies


def selection_of(select: str | None) -> str | tuple[str, ...] | None:
    """Return the value of --select, or the terms in FILE for @FILE."""
    if select is None or not select.startswith("@"):
        return select
    from veil.data.records import read_texts

    return tuple(read_texts(Path(select[1:])))


_ENGINE_OPTIONS = (
    click.option(
        "--engine",
        default="bm25",
        show_default=True,
        help="Search engine to query (see 'veil engines').",
    ),
    click.option(
        "--collection",
        help="Documents of a local engine: icd10cm, icd10cm-full, irds:ID, a folder or a file."
        "  [default: icd10cm, unless the engine has an index]",
    ),
    click.option(
        "--encoder",
        default="minilm",
        show_default=True,
        help="Model that re-ranks results by the true query, on this machine: minilm, wordllama, a"
        " Hugging Face name, or none.",
    ),
    click.option(
        "-k",
        type=click.IntRange(1, 10_000),
        default=100,
        show_default=True,
        help="Results to request for each variant.",
    ),
)

Command = Callable[..., Any]


def engine_options(command: Command) -> Command:
    """Add --engine, --collection, --encoder and -k."""
    for option in reversed(_ENGINE_OPTIONS):
        command = option(command)
    return command


class DeskFlags(TypedDict):
    """Options of ``search`` and ``serve`` that `veil.proxy.opening.open_desk` takes."""

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


@dataclass(frozen=True)
class SearchChoices:
    """Options of one search: its mechanism, its number of variants, and whether it counts."""

    mechanism: str | None
    size: int | None
    unknown: "Unknown"
    policies: "tuple[tuple[str, Policy], ...]"
    select: str | tuple[str, ...] | None
    counted: bool
    plainly: bool
    seed: int | None


def _limit(context: click.Context, parameter: click.Parameter, text: str) -> float | None:
    del context
    if text.strip().lower() == "none":
        return None
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit > 0):
        raise ParameterError(f"--{parameter.name} must be a number > 0, or none.")
    return limit


_DESK_OPTIONS = (
    click.option(
        "--letters",
        type=click.FloatRange(0, 10),
        default=0.2,
        show_default=True,
        help="Weight of the words and letters that a result shares with the query, relative to the"
        " encoder.",
    ),
    click.option(
        "--log",
        help="File of queries for the local attacks.  [default: those of the collection]",
    ),
    click.option(
        "--budget",
        metavar="FLOAT|none",
        default="10000",
        show_default=True,
        callback=_limit,
        help="Budget for all searches in 24 hours: the sum of epsilon x words x variants.",
    ),
    click.option(
        "--bits",
        metavar="FLOAT|none",
        default="300",
        show_default=True,
        callback=_limit,
        help="Budget for cover in 24 hours, in bits of leakage. Each query counts once, when its"
        " group is sent.",
    ),
    click.option(
        "--spread",
        type=click.FloatRange(0, 600),
        default=0.0,
        show_default=True,
        help="Seconds over which to spread the variants of a query.",
    ),
    click.option(
        "--bound",
        type=click.IntRange(1),
        metavar="RANK",
        help="Send only if no local attack has the query among its first RANK guesses.",
    ),
    click.option(
        "--on-bound",
        type=click.Choice(["again", "more", "refuse"]),
        default="refuse",
        show_default=True,
        help="Action if --bound does not hold: draw again, add variants, or refuse.",
    ),
    click.option(
        "--gate",
        type=click.Path(path_type=Path),
        help="File of rules (.toml) that refuse queries, or allow them unprotected on request.",
    ),
)


def desk_options(command: Command) -> Command:
    """Add the options of the engine, the ledger, the local attacks and the rules."""
    for option in reversed(_DESK_OPTIONS):
        command = option(command)
    return engine_options(command)
