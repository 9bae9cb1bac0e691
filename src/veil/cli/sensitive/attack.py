"""``veil sensitive attack``: what somebody who is not cleared sees, and can conclude."""

from pathlib import Path

import click
from rich.box import HEAVY_HEAD, SIMPLE
from rich.table import Table

from veil.cli.terminal import fits, progress_bar, stdout
from veil.core.formatting import count_of
from veil.sensitive.attack import attack as attacked
from veil.sensitive.attacks import ATTACKS
from veil.sensitive.classifiers import classifier as classifier_of
from veil.sensitive.collection import load
from veil.sensitive.cross_validate import cross_validate
from veil.sensitive.inputs import check_k
from veil.sensitive.mechanisms import mechanism as strategy_of

_ALARMS = "false\nalarms"
_PATH = click.Path(path_type=Path)
_SAYS = (
    "Exposed: in some list. Inferred: of the others, rightly said to exist. False alarms: said of"
    " decoys. Risk = exposed + (1 - exposed) * max(0, inferred - false alarms). Another attacker"
    " may find more."
)


@click.command("attack")
@click.argument("source", type=_PATH)
@click.option("--sensitivity", type=_PATH, help="labels, if they are not in the folder")
@click.option(
    "--strategy", "specs", multiple=True, required=True, metavar="SPEC",
    help="what is attacked; several times",
)  # fmt: skip
@click.option(
    "--attacker", "attackers", multiple=True, metavar="SPEC",
    help="who attacks; several times  [default: all]",
)  # fmt: skip
@click.option("--classifier", default="logistic", show_default=True, metavar="SPEC")
@click.option("-k", default=10, show_default=True, help="documents of a page")
@click.option("--seed", default=0, show_default=True, help="of folds and decoys")
def attack(
    source: Path,
    sensitivity: Path | None,
    specs: tuple[str, ...],
    attackers: tuple[str, ...],
    classifier: str,
    k: int,
    seed: int,
) -> None:
    """Attack SOURCE: docs.jsonl, queries.jsonl, qrels.txt and sensitivity.tsv.

    The attacker asks as anybody can, and knows a few words of each sensitive document. What it
    sees is what a strategy shows: lists, ranks, totals, and scores where there are any. See 'veil
    sensitive attackers'.
    """
    strategies = [strategy_of(spec) for spec in specs]
    chosen = [ATTACKS.parse(spec) for spec in attackers or ATTACKS.names()]
    check_k(k)
    classifier_of(classifier)
    rows: list[tuple[str, ...]] = []
    with progress_bar() as report:
        collection = load(source, sensitivity, report)
        p = None
        if any(one.name != "relevance" for one in strategies):
            report("classifying documents", 0, 0)
            p = cross_validate(collection, classifier, rng=seed).p
        for one in strategies:
            for by in chosen:
                report(f"{by.brief} against {one.brief}", 0, 0)
                found = attacked(collection, one, p, by, k, seed)
                shares = (found.details[name] for name in ("exposed", "inferred", "false_alarms"))
                figures = (*shares, found.risk)
                spread = f"{found.risk.low:.3f}-{found.risk.high:.3f}"
                rows.append((one.brief, by.brief, *(f"{value:.3f}" for value in figures), spread))
    console, shown = stdout(), _table(rows)
    console.print(shown if fits(console, shown) else _table(rows, narrow=True))
    hot = int((collection.sensitive == 1).sum())
    click.echo(f"{count_of(hot, 'sensitive document')}. {_SAYS}")


def _table(rows: list[tuple[str, ...]], *, narrow: bool = False) -> Table:
    """Put figures into columns; a narrow terminal breaks specs, and no figure."""
    shown = Table(box=SIMPLE if narrow else HEAVY_HEAD, padding=(0, 1, 0, 0) if narrow else (0, 1))
    shown.add_column("strategy", overflow="fold")
    shown.add_column("attacker", overflow="fold")
    for name in ("exposed", "inferred", _ALARMS, "risk", "95 %"):
        shown.add_column(name if narrow else name.replace("\n", " "), no_wrap=True)
    for row in rows:
        shown.add_row(*row)
    return shown
