"""``veil explain``: what a mechanism does to a word."""

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
    space.ids(words)  # all must be known before any is explained
    found = [
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
            "words": [asdict(each) for each in found],
            "log_ratio": shown,
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    console = stdout()
    console.print(f"[bold]{mechanism}[/bold]  {mechanism.guarantee}", soft_wrap=True)
    for each in found:
        _show(console, each)
    if isinstance(ratio, LogRatio):
        _show_ratio(console, ratio)
    elif ratio:
        console.print(ratio, soft_wrap=True)


def _finite(values: dict[str, object]) -> dict[str, object]:
    """Write 'inf' and 'nan' as words: JSON has no such numbers."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def _show(console: Console, found: Explanation) -> None:
    source = f"{found.samples:,} draws" if found.samples else "exact law"
    table = Table(title=escape(f"{found.word} ({source})"), title_justify="left")
    table.add_column("becomes")
    table.add_column("probability", justify="right")
    for word, probability in found.top:
        table.add_row(escape(word), f"{probability:.6f}")
    console.print(table)
    itself = f"{found.itself:.6f}"
    if found.interval:
        itself += f"  (95 % interval {found.interval[0]:.6f} to {found.interval[1]:.6f})"
    least = "at least " if found.samples else ""
    console.print(f"stays itself        {itself}")
    hold = "word holds" if found.support == 1 else "words hold"
    console.print(f"effective support   {least}{found.support:,} {hold} {1 - found.eta:.0%}")
    console.print(
        f"entropy             {least}{found.entropy:.2f} bits, min-entropy"
        f" {found.min_entropy:.2f} bits"
    )


def _show_ratio(console: Console, ratio: LogRatio) -> None:
    first, second, output = map(escape, (*ratio.words, ratio.output))
    bound = "nothing is proved" if math.isinf(ratio.bound) else f"proved bound {ratio.bound:.4f}"
    if math.isnan(ratio.bound):
        bound = "the guarantee names another distance"
    far = "" if math.isnan(ratio.distance) else f", distance {ratio.distance:.4f}"
    console.print(
        f"telling {first} from {second}: worst log-ratio {ratio.value:.4f} (output"
        f" '{output}'); {bound}{far}",
        soft_wrap=True,
    )


explain = Family(
    "explain",
    "Show what a mechanism does to words. The figures are exact if the law of MECHANISM is known,"
    " else simulated. With two words, also how well one output tells them apart.",
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
            help="likeliest outputs to show",
        ),
        click.Option(
            ["--eta"],
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            default=0.05,
            show_default=True,
            help="mass left out of the effective support",
        ),
        click.Option(
            ["--samples"],
            type=click.IntRange(1, 10_000_000),
            default=2_000,
            show_default=True,
            help="draws where the law is not known",
        ),
        click.Option(["--seed"], type=click.IntRange(0), help="repeatable draws"),
        click.Option(["--json", "as_json"], is_flag=True, help="print JSON"),
    ],
)
