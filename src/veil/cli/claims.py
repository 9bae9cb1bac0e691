"""``veil audit claims``: hold what mechanisms claim against samples."""

import json
from dataclasses import asdict

import click
from rich.markup import escape
from rich.table import Table

from veil.cli._screen import open_vectors
from veil.cli.terminal import progress_bar, stdout
from veil.core.component import example
from veil.core.errors import ParameterError
from veil.text.measures.claims import ClaimAudit, audit_claim, line_space
from veil.text.mechanisms import find
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words import MECHANISMS


@click.command()
@click.argument("mechanisms", nargs=-1, metavar="[MECHANISM]...")
@click.option(
    "--vectors",
    help="word vectors: a name or a file  [default: words a hundredth apart, made for this]",
)
@click.option("--words", nargs=2, metavar="WORD WORD", help="two words of --vectors to tell apart")
@click.option(
    "--pairs",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="pairs of words to try, chosen at random",
)
@click.option(
    "--samples",
    type=click.IntRange(1000, 10_000_000),
    default=20_000,
    show_default=True,
    help="draws for each of two words",
)
@click.option(
    "--error",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="largest chance that a correct mechanism is accused",
)
@click.option("--seed", type=click.IntRange(0), help="repeatable draws")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def claims(
    mechanisms: tuple[str, ...],
    vectors: str | None,
    words: tuple[str, str] | None,
    pairs: int,
    samples: int,
    error: float,
    seed: int | None,
    as_json: bool,
) -> None:
    """Draw from each MECHANISM, and hold the epsilon that it claims against what was drawn.

    MECHANISM is a spec as 'cmp(epsilon=1)', or a name; without any, all mechanisms for words are
    tried. Where a claim is refuted the exit code is 1. A claim that is not refuted is not proved.
    """
    if words and vectors is None:
        raise ParameterError("--words are words of --vectors; name the vectors, too.")
    chosen = [_mechanism(spec) for spec in mechanisms or MECHANISMS.names()]
    space = line_space() if vectors is None else open_vectors(vectors)
    audits = []
    with progress_bar() as report:
        for number, each in enumerate(chosen):
            report(f"auditing {each.name}", number, len(chosen))
            audits.append(
                audit_claim(
                    each, space, words, samples=samples, pairs=pairs, error=error, rng=seed
                )
            )
    if as_json:
        click.echo(json.dumps([_document(each) for each in audits], indent=1, allow_nan=False))
    else:
        _show(chosen, audits)
    if any(each.exceeded for each in audits):
        raise click.exceptions.Exit(1)


def _mechanism(spec: str) -> WordMechanism:
    """Build a mechanism; one that is named only has the parameters of its example."""
    named = spec in find.names()
    found = example(find.mechanism_class(spec)) if named else find.mechanism(spec)
    if not isinstance(found, WordMechanism):
        known = ", ".join(MECHANISMS.names())
        raise ParameterError(
            f"{found.name} rewrites whole queries and claims nothing; name some of: {known}."
        )
    return found


def _document(audit: ClaimAudit) -> dict[str, object]:
    return {
        "mechanism": audit.mechanism,
        "verdict": audit.verdict,
        "refuted": audit.exceeded,
        "claimed": audit.worst.claimed,
        "measured": audit.worst.lower,
        "reach": audit.reach,
        "samples": audit.samples,
        "error": audit.error,
        "pairs": [asdict(pair) for pair in audit.pairs],
    }


def _show(chosen: list[WordMechanism], audits: list[ClaimAudit]) -> None:
    table = Table()
    for heading in ("mechanism", "claimed at most", "measured at least", "verdict"):
        table.add_column(heading, overflow="fold")
    for mechanism, audit in zip(chosen, audits, strict=True):
        worst = audit.worst
        said = "" if worst.claimed is None else f"{worst.claimed:.3f} ({worst.source})"
        verdict = f"[red]{audit.verdict}[/red]" if audit.exceeded else audit.verdict
        table.add_row(escape(mechanism.brief), said, f"{worst.lower:.3f}", verdict)
    console = stdout()
    console.print(table)
    first = audits[0]
    console.print(
        "The log of how much likelier one output is under one word than under another, of the pair"
        f" that comes nearest to its claim. {first.samples:,} draws show at most"
        f" {first.reach:.2f}: what is claimed above that is out of reach."
    )
