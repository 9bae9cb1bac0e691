"""``veil dp compose``: what several releases of the same data cost together."""

import re

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import stderr, stdout
from veil.core.errors import InputError
from veil.core.formatting import number_of
from veil.core.guarantee import Guarantee
from veil.dp.accounting.compose import ACCOUNTANTS
from veil.dp.accounting.compose import compose as composed
from veil.dp.accounting.cost import cost_of, whole_times

_TIMES = re.compile(r"[x×]([0-9]+)")


@click.command("compose")
@click.argument("items", nargs=-1, required=True, metavar="SPEC [xN] ...")
@click.option("--delta", type=float, default=0.0, show_default=True,
              help="what delta everything together may have")  # fmt: skip
@click.option("--accountant", type=click.Choice(sorted(ACCOUNTANTS)), default="basic",
              show_default=True, help="how the releases are added up")  # fmt: skip
def compose(items: tuple[str, ...], delta: float, accountant: str) -> None:
    """Tell what several releases of the same data cost together.

    Each SPEC is a mechanism (see 'veil dp mechanisms') and may be followed by how often it is
    released, as in 'gaussian(sigma=4)' x100 'laplace(epsilon=0.25)' x5.

    basic adds up; advanced is the best of several theorems; zcdp adds up rho and converts it once;
    pld follows the law of the losses, and needs the extra 'accounting' unless all are gaussian.
    """
    pairs = counted(items)
    whole = composed(pairs, delta, accountant)
    table = Table("release", "times", "each")
    for spec, times in pairs:
        cost, _ = cost_of(spec)
        table.add_row(escape(spec), f"{times:,}", escape(_brief(cost.guarantee)))
    stdout().print(table)
    stdout().print(f"Together, by {accountant}: {escape(_brief(whole))}, per {whole.unit}.")
    if whole.caveat:
        stderr().print(f"[yellow]{escape(whole.caveat)}[/yellow]")


def counted(words: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return specs with how often each is meant.

    >>> counted(("gaussian(sigma=4)", "x100", "laplace(epsilon=0.25)"))
    [('gaussian(sigma=4)', 100), ('laplace(epsilon=0.25)', 1)]
    """
    pairs: list[tuple[str, int]] = []
    fresh = False
    for word in words:
        times = _TIMES.fullmatch(word)
        if times is None:
            pairs.append((word, 1))
        elif fresh:
            pairs[-1] = (pairs[-1][0], whole_times(int(times[1][:12])))
        else:
            raise InputError(
                "How often, as in x100, must follow a spec, as in 'geometric(epsilon=0.5)' x100."
            )
        fresh = times is None
    return pairs


def _brief(told: Guarantee) -> str:
    if told.kind == "none":
        return "nothing is proved"
    if told.kind == "zcdp":
        return f"rho {number_of(told.rho)}"
    delta = f", delta {told.delta:g}" if told.delta else ""
    return f"epsilon {number_of(told.epsilon)}{delta}"
