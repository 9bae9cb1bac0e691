"""Options that several commands share: which words are protected, who is asked, at what price."""

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

VECTORS_OPTION = click.Option(
    ["--vectors"],
    default="glove-100d",
    show_default=True,
    help="word vectors: a name (see 'veil vectors') or a file",
)

SELECT_OPTIONS: list[click.Parameter] = [
    click.Option(
        ["--unknown"],
        type=click.Choice(UNKNOWN),
        default="random",
        show_default=True,
        help="what happens to words that the vectors do not know",
    ),
    click.Option(
        ["--policy"],
        multiple=True,
        metavar="KIND=WHAT",
        help="for number, email, url, identifier or symbol: replace, drop, mask or keep",
    ),
    click.Option(
        ["--select"],
        help="words to protect: all, content, 'pos:NN JJ', or @FILE with terms"
        "  [default: the mechanism's own choice]",
    ),
]


def policies_of(given: tuple[str, ...]) -> "dict[str, Policy]":
    """Read the values of --policy."""
    policies: dict[str, Policy] = {}
    for each in given:
        kind, equals, policy = each.partition("=")
        if not equals:
            raise ParameterError("A --policy must look like kind=what, for example number=mask.")
        policies[kind] = cast("Policy", policy)  # checked by protect
    return policies


def selection_of(select: str | None) -> str | tuple[str, ...] | None:
    """Read the value of --select; @FILE is a list of terms."""
    if select is None or not select.startswith("@"):
        return select
    from veil.data.records import read_texts

    return tuple(read_texts(Path(select[1:])))


_ENGINE_OPTIONS = (
    click.option("--engine", default="bm25", show_default=True, help="who is asked: veil engines"),
    click.option(
        "--collection",
        help="documents of a local engine: icd10cm, icd10cm-full, irds:ID, a folder or a file"
        "  [default: icd10cm, unless the engine has an index]",
    ),
    click.option(
        "--encoder",
        default="minilm",
        show_default=True,
        help="re-ranks by the true query, here: minilm, wordllama, a Hugging Face name, or none",
    ),
    click.option(
        "-k",
        type=click.IntRange(1, 10_000),
        default=100,
        show_default=True,
        help="results asked for with each variant",
    ),
)

Command = Callable[..., Any]


def engine_options(command: Command) -> Command:
    """Add --engine, --collection, --encoder and -k."""
    for option in reversed(_ENGINE_OPTIONS):
        command = option(command)
    return command


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


@dataclass(frozen=True)
class SearchChoices:
    """What one search sends: of which mechanism, how many variants, and whether it counts."""

    mechanism: str | None
    size: int | None
    unknown: "Unknown"
    policies: "tuple[tuple[str, Policy], ...]"
    select: str | tuple[str, ...] | None
    counted: bool
    plainly: bool
    seed: int | None


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


_DESK_OPTIONS = (
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


def desk_options(command: Command) -> Command:
    """Add the flags of the engine, and those of the ledger, the attackers and the rules."""
    for option in reversed(_DESK_OPTIONS):
        command = option(command)
    return engine_options(command)
