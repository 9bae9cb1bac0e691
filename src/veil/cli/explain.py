"""``veil explain``: the effect of a mechanism on a word."""

import json
import math
from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veil import api
from veil.cli.flags import Family
from veil.cli.options import VECTORS_OPTION
from veil.cli.screen import open_vectors, prepare
from veil.cli.terminal import stdout
from veil.core.errors import LawError
from veil.text.explain import Explanation, LogRatio
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words import MECHANISMS


def _run(
    mechanism: WordMechanism,
    words: tuple[str, ...],
    vectors: str,
    top: int,
    eta: float,
    samples: int,
    seed: int | None,
    as_json: bool,
) -> None:
    space = open_vectors(vectors)
    prepare(mechanism, space)
    space.ids(words)  # fails for an unknown word before the slow work
    explanations = [
        api.explain(mechanism, space, word, top=top, eta=eta, samples=samples, rng=seed)
        for word in words
    ]
    ratio: LogRatio | str | None = None
    if len(words) == 2:
        try:
            ratio = api.log_ratio(mechanism, space, *words)
        except LawError as error:
            ratio = str(error)
    if as_json:
        shown = _finite(asdict(ratio)) if isinstance(ratio, LogRatio) else None
        document = {
            "mechanism": str(mechanism),
            "words": [asdict(explanation) for explanation in explanations],
            "log_ratio": shown,
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    console = stdout()
    console.print(f"[bold]{mechanism}[/bold]  {mechanism.guarantee}", soft_wrap=True)
    for explanation in explanations:
        _show(console, explanation)
    if isinstance(ratio, LogRatio):
        _show_ratio(console, ratio)
    elif ratio:
        console.print(ratio, soft_wrap=True)


def _finite(values: dict[str, object]) -> dict[str, object]:
    """Replace infinities and nan by strings, because JSON has no such numbers."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def _show(console: Console, explanation: Explanation) -> None:
    source = f"{explanation.samples:,} draws" if explanation.samples else "exact"
    table = Table(title=escape(f"{explanation.word} ({source})"), title_justify="left")
    table.add_column("output")
    table.add_column("probability", justify="right")
    for word, probability in explanation.top:
        table.add_row(escape(word), f"{probability:.6f}")
    console.print(table)
    itself = f"{explanation.itself:.6f}"
    if explanation.interval:
        itself += (
            f"  (95 % interval {explanation.interval[0]:.6f} to {explanation.interval[1]:.6f})"
        )
    least = "at least " if explanation.samples else ""
    console.print(f"stays unchanged     {itself}")
    hold = "word has" if explanation.support == 1 else "words have"
    console.print(
        f"effective support   {least}{explanation.support:,} {hold} {1 - explanation.eta:.0%}"
    )
    console.print(
        f"entropy             {least}{explanation.entropy:.2f} bits, min-entropy"
        f" {explanation.min_entropy:.2f} bits"
    )


def _show_ratio(console: Console, ratio: LogRatio) -> None:
    first, second, output = map(escape, (*ratio.words, ratio.output))
    bound = "nothing is proved" if math.isinf(ratio.bound) else f"proved bound {ratio.bound:.4f}"
    if math.isnan(ratio.bound):
        bound = "the guarantee uses another distance"
    far = "" if math.isnan(ratio.distance) else f", distance {ratio.distance:.4f}"
    console.print(
        f"distinguishing {first} from {second}: worst log-ratio {ratio.value:.4f} (output"
        f" '{output}'); {bound}{far}",
        soft_wrap=True,
    )


explain = Family(
    "explain",
    "Show what a mechanism does to words. The figures are exact if the output distribution of"
    " MECHANISM is known, else simulated. For two words, it also shows how well one output"
    " distinguishes them.",
    MECHANISMS,
    _run,
    [
        click.Argument(["words"], nargs=-1, required=True),
        VECTORS_OPTION,
        click.Option(
            ["--top"],
            type=click.IntRange(1, 1000),
            default=10,
            show_default=True,
            help="Number of likeliest outputs to show.",
        ),
        click.Option(
            ["--eta"],
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            default=0.05,
            show_default=True,
            help="Probability mass outside the effective support.",
        ),
        click.Option(
            ["--samples"],
            type=click.IntRange(1, 10_000_000),
            default=2_000,
            show_default=True,
            help="Draws if the distribution is not known.",
        ),
        click.Option(
            ["--seed"], type=click.IntRange(0), help="Seed that makes the draws reproducible."
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
    ],
)
