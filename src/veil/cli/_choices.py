"""Which words are protected, and how: flags that several commands share."""

from pathlib import Path
from typing import cast, get_args

import click

from veil.core.errors import ParameterError
from veil.data.records import read_texts
from veil.text.policy import Policy, Unknown

SELECT_OPTIONS: list[click.Parameter] = [
    click.Option(
        ["--unknown"],
        type=click.Choice(get_args(Unknown)),
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


def policies_of(given: tuple[str, ...]) -> dict[str, Policy]:
    """Read the values of --policy."""
    policies: dict[str, Policy] = {}
    for each in given:
        kind, equals, policy = each.partition("=")
        if not equals:
            raise ParameterError("A --policy must look like kind=what, for example number=mask.")
        policies[kind] = cast(Policy, policy)  # checked by protect
    return policies


def selection_of(select: str | None) -> str | tuple[str, ...] | None:
    """Read the value of --select; @FILE is a list of terms."""
    if select is None or not select.startswith("@"):
        return select
    return tuple(read_texts(Path(select[1:])))
