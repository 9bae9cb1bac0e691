"""``veil audit``: run a study, or test the claims of mechanisms on samples."""

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
    """Command that runs a subcommand if the first argument names one of `commands`.

    For a file with such a name, give its path: ``./claims``. A click group would not do: its
    options must come before its arguments, and it ignores arguments that it cannot use.
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
        """Pass the arguments to the subcommand that the first one names, if any."""
        if args and (command := self.commands.get(args[0])):
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, then the subcommands."""
        super().format_options(ctx, formatter)
        room = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(room))
                    for name, command in self.commands.items()
                ]
            )


@click.command()
@click.argument("mechanisms", nargs=-1, metavar="[MECHANISM]...")
@click.option(
    "--vectors",
    help="Word vectors: a name or a file.  [default: artificial words at distances of 0.01]",
)
@click.option("--words", nargs=2, metavar="WORD WORD", help="Two words of --vectors to compare.")
@click.option(
    "--pairs",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="Random pairs of words to test.",
)
@click.option(
    "--samples",
    type=click.IntRange(1000, 10_000_000),
    default=20_000,
    show_default=True,
    help="Draws for each word.",
)
@click.option(
    "--error",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="Largest probability of refuting a correct claim.",
)
@click.option("--seed", type=click.IntRange(0), help="Seed that makes the draws reproducible.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    """Sample each MECHANISM and test its claimed epsilon against the samples.

    MECHANISM is a spec such as 'cmp(epsilon=1)', or a name. Default: all mechanisms for words.
    The exit code is 1 if a claim is refuted. A claim that is not refuted is not proved.
    """
    if words and vectors is None:
        raise ParameterError("--words needs --vectors. Add --vectors NAME.")
    targets = [_mechanism(spec) for spec in mechanisms or MECHANISMS.names()]
    space = line_space() if vectors is None else open_vectors(vectors)
    audits = []
    with progress_bar() as report:
        for number, target in enumerate(targets):
            report(f"auditing {target.name}", number, len(targets))
            audits.append(
                audit_claim(
                    target, space, words, samples=samples, pairs=pairs, error=error, rng=seed
                )
            )
    if as_json:
        click.echo(json.dumps([_document(claim) for claim in audits], indent=1, allow_nan=False))
    else:
        _show(targets, audits)
    if any(claim.exceeded for claim in audits):
        raise click.exceptions.Exit(1)


def _mechanism(spec: str) -> WordMechanism:
    """Build a mechanism; a name without parameters gets those of its example."""
    is_name = spec in catalogue.names()
    mechanism = example(catalogue.mechanism_class(spec)) if is_name else catalogue.mechanism(spec)
    if not isinstance(mechanism, WordMechanism):
        names = ", ".join(MECHANISMS.names())
        raise ParameterError(
            f"{mechanism.name} rewrites whole queries and claims no epsilon per word. Choose from:"
            f" {names}."
        )
    return mechanism


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


def _show(targets: list[WordMechanism], audits: list[ClaimAudit]) -> None:
    table = Table()
    for heading in ("mechanism", "claimed at most", "measured at least", "verdict"):
        table.add_column(heading, overflow="fold")
    for mechanism, audit in zip(targets, audits, strict=True):
        worst = audit.worst
        claim = "" if worst.claimed is None else f"{worst.claimed:.3f} ({worst.source})"
        verdict = f"[red]{audit.verdict}[/red]" if audit.exceeded else audit.verdict
        table.add_row(escape(mechanism.brief), claim, f"{worst.lower:.3f}", verdict)
    console = stdout()
    console.print(table)
    first = audits[0]
    console.print(
        "Each value is a log-ratio: how much likelier one output is for one word than for another."
        f" It is shown for the pair nearest to its claim. {first.samples:,} draws can show at most"
        f" {first.reach:.2f}; larger claims cannot be tested."
    )


@click.command(cls=CommandWithSubcommands, commands={"claims": claims})
@click.argument("study", type=click.Path(path_type=Path), required=False)
@click.option(
    "-o",
    "--out",
    type=NEW,
    default=Path("veil-report"),
    show_default=True,
    help="Folder for the report. Results already in it are reused.",
)
@click.option(
    "--workers",
    type=WORKERS,
    help=WORKERS_HELP,
)
@click.option("--dask", metavar="ADDRESS", help="Address of a Dask scheduler to compute on.")
@click.option("--demo", is_flag=True, help="Run a small study of a minute or two.")
def audit(
    study: Path | None, out: Path, workers: int | None, dask: str | None, demo: bool
) -> None:
    """Run a study: protect, attack, measure, write a report.

    STUDY is a TOML file. Default: all mechanisms on the embedded collection. You can stop and
    restart it at any time: finished results are kept and not computed again.
    """
    if demo and study is not None:
        raise ParameterError("--demo cannot be combined with a study file. Remove one.")
    if dask is not None and workers is not None:
        raise ParameterError("--workers cannot be combined with --dask. Remove one.")
    definition = load_study(study) if study else demo_study() if demo else default_study()
    run_study(definition, out, workers=workers, dask=dask)
    if not demo and definition.domain == DEFAULT:  # the demo is too small for the slider
        _note(out)


def _note(out: Path) -> None:
    """Record where the audit is, for 'veil serve'; a failure does not affect the audit."""
    try:
        note_audit(out)
    except VeilError as error:
        click.echo(f"veil: 'veil serve' will not find this audit automatically: {error}", err=True)
