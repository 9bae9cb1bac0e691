"""``veil audit``: sweep mechanisms and attack them, or hold what they claim against samples."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from veil.cli.screen import open_vectors
from veil.cli.studies import WORKERS, WORKERS_HELP, run_study
from veil.cli.terminal import NEW, progress_bar, stdout
from veil.core.component import example
from veil.core.errors import ParameterError, VeilError
from veil.proxy.folder import note_audit
from veil.search.study.study import default_study, demo_study
from veil.studies import DEFAULT
from veil.studies.domains import load_study
from veil.text.measures.claims import ClaimAudit, audit_claim, line_space
from veil.text.mechanisms import catalogue
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.mechanisms.words import MECHANISMS


class CommandWithSubcommands(click.Command):
    """Does its own work, unless the first argument names one of `commands`.

    A file that is called like one of them is named by its path: ``./claims``. It is no group of
    click, whose options must stand before its arguments, and which ignores what it cannot use.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - click's own
        commands: Mapping[str, click.Command],
        **named: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*arguments, **named)
        self.commands = commands

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401
    ) -> click.Context:
        """Hand the arguments to the command that is named, or take them."""
        if args and (named := self.commands.get(args[0])):
            return named.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, then the commands beside it."""
        super().format_options(ctx, formatter)
        room = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(room)) for name, each in self.commands.items()]
            )


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
    named = spec in catalogue.names()
    found = example(catalogue.mechanism_class(spec)) if named else catalogue.mechanism(spec)
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


@click.command(cls=CommandWithSubcommands, commands={"claims": claims})
@click.argument("study", type=click.Path(path_type=Path), required=False)
@click.option(
    "-o",
    "--out",
    type=NEW,
    default=Path("veil-report"),
    show_default=True,
    help="folder of the report; what is there already is not computed again",
)
@click.option(
    "--workers",
    type=WORKERS,
    help=WORKERS_HELP,
)
@click.option("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster to compute on")
@click.option("--demo", is_flag=True, help="a small sweep of a minute or two, for a first look")
def audit(
    study: Path | None, out: Path, workers: int | None, dask: str | None, demo: bool
) -> None:
    """Run a study: protect, attack, measure, write a report.

    STUDY is a TOML file. Without it: all mechanisms on the embedded collection. Kill it at any
    moment and start it again: nothing is lost, and nothing is computed twice.
    """
    if demo and study is not None:
        raise ParameterError("--demo is a study of its own; leave the file out.")
    if dask is not None and workers is not None:
        raise ParameterError("Give either --workers or --dask, not both.")
    chosen = load_study(study) if study else demo_study() if demo else default_study()
    run_study(chosen, out, workers=workers, dask=dask)
    if not demo and chosen.domain == DEFAULT:  # a first look is too small to steer by
        _note(out)


def _note(out: Path) -> None:
    """Tell 'veil serve' where the audit lies; the audit itself is done, whatever comes of this."""
    try:
        note_audit(out)
    except VeilError as error:
        click.echo(f"veil: 'veil serve' will not find this audit by itself: {error}", err=True)
