"""``veil sensitive evaluate``: strategies side by side on a test collection."""

from pathlib import Path

import click
from rich.box import HEAVY_HEAD, SIMPLE
from rich.table import Table

from veil.cli.sensitive.index import PATH
from veil.cli.terminal import NEW, fits, progress_bar, stdout
from veil.core.formatting import count_of
from veil.sensitive.collection import load
from veil.sensitive.comparison import Line, check_page, compare, write_report
from veil.sensitive.cross_validate import cross_validate
from veil.sensitive.inputs import check_k, prices_of
from veil.sensitive.mechanisms import mechanism as strategy_of

_USUAL = ("relevance()", "prefilter(threshold=0.1)", "postfilter(threshold=0.1)", "demoted()")


@click.command("evaluate")
@click.argument("source", type=PATH)
@click.option("--sensitivity", type=PATH, help="labels, if they are not in the folder")
@click.option("--strategy", "specs", multiple=True, metavar="SPEC", help="several times")
@click.option("--classifier", default="logistic", show_default=True, metavar="SPEC")
@click.option("--cost", default=12.0, show_default=True, help="of one sensitive document shown")
@click.option("-k", default=10, show_default=True, help="documents shown")
@click.option("-o", "--out", type=NEW, help="also write a page there (.html)")
def evaluate(
    source: Path,
    sensitivity: Path | None,
    specs: tuple[str, ...],
    classifier: str,
    cost: float,
    k: int,
    out: Path | None,
) -> None:
    """Measure strategies on SOURCE: docs.jsonl, queries.jsonl, qrels.txt and sensitivity.tsv.

    Probabilities are out of fold, strategies that learn are fitted to other topics and other
    documents. The empty list stands beside: showing nothing is often hard to beat.
    """
    chosen = [strategy_of(spec) for spec in specs or _USUAL]
    prices_of(cost, 0.0, "collection", 1.0)
    check_k(k)
    if out is not None:
        check_page(out)
    with progress_bar() as report:
        collection = load(source, sensitivity, report)
        report("classifying documents", 0, 0)
        validated = cross_validate(collection, classifier)
        report("ranking", 0, 0)
        lines = compare(collection, [one.brief for one in chosen], validated.p, k, cost)
    _show(lines, k)
    click.echo(
        f"{validated.spec}: AUC {validated.auc:.3f}, among the best 100 of each query"
        f" {validated.candidate_auc:.3f}; Brier {validated.brier:.3f}, calibration error"
        f" {validated.ece:.3f}."
    )
    click.echo(f"{count_of(lines[0].value.n, 'topic')}; {lines[0].says}.")
    for note in dict.fromkeys(note for line in lines for note in line.notes):
        click.echo(note)
    if out is not None:
        write_report(out, collection.name, lines, validated, k, cost)


def _show(lines: list[Line], k: int) -> None:
    console = stdout()
    shown = _table(lines, k)
    console.print(shown if fits(console, shown) else _table(lines, k, narrow=True))


def _table(lines: list[Line], k: int, *, narrow: bool = False) -> Table:
    """Put lines into columns; a narrow terminal gets those that must be read together."""
    shown = Table(box=SIMPLE if narrow else HEAVY_HEAD, padding=(0, 1, 0, 0) if narrow else (0, 1))
    shown.add_column("strategy", overflow="fold", min_width=24 if narrow else None)
    names = (f"nCS-DCG@{k}", "95 %", "skill", "visible nDCG", "sensitive")
    for name in names if narrow else (*names, "any", "shown", "judged"):
        shown.add_column(name.replace(" nDCG", "\nnDCG") if narrow else name, no_wrap=True)
    for line in lines:
        cells = (
            f"{line.value:.3f}",
            f"{line.value.low:.3f}-{line.value.high:.3f}",
            f"{line.skill:+.2f}",
            f"{line.visible:.3f}",
            f"{line.share:.3f}",
            f"{line.any_shown:.2f}",
            f"{line.shown:.1f}",
            f"{line.judged:.2f}",
        )
        shown.add_row(line.spec, *cells[: len(shown.columns) - 1])
    return shown
