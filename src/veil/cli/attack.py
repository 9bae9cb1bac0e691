"""``veil attack``: what an engine could infer from a file of variants."""

import json
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veil.cli.options import VECTORS_OPTION
from veil.cli.screen import open_vectors
from veil.cli.terminal import fits, progress_bar, stderr, stdout
from veil.cli.verb import SpecType
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.corpus.logs import read_log
from veil.measures.risk import ATTACKERS, Attacker, chance, risk
from veil.text.attack import Attack, EncoderAttack, Outcome
from veil.text.attack import attack as run_attack
from veil.text.attacks import ATTACKS
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS
from veil.text.variants import VariantTable, made_by, read_variants

_MEANINGS: dict[Attacker, str] = {
    "lazy": "first guess",
    "active": "among the first 10",
    "motivated": "mean of 1 / rank",
    "persistent": "rank-biased",
}
_UNITS = {"query": "queries"}


@dataclass(frozen=True)
class _AttackResult:
    """The outcome of an attack on one table of variants."""

    table: VariantTable
    outcome: Outcome
    missing: int  # originals that the log lacks

    def risks(self) -> dict[str, tuple[Estimate, float]]:
        """Return the risk and the success of a blind guess, by measure of success."""
        outcome = self.outcome
        ranks, among, prior = outcome.ranks, outcome.candidates, outcome.prior
        return {
            who: (
                risk(ranks, who, candidates=among, groups=outcome.subjects, ties=outcome.ties),
                chance(among, who, ranks=ranks, prior=prior, prior_ties=outcome.prior_ties),
            )
            for who in ATTACKERS
        }


@click.command()
@click.argument("variants", type=click.Path(path_type=Path))
@click.option(
    "--log",
    "log_file",
    type=click.Path(path_type=Path),
    help="File of queries that the attacker knows, one per line.",
)
@click.option(
    "-a",
    "--attack",
    "--attacker",
    "attacker",
    metavar="SPEC",
    type=SpecType(ATTACKS),
    default="inference",
    show_default=True,
    help=f"Attack with its parameters in brackets: {', '.join(sorted(ATTACKS.builtin))}.",
)
@click.option("--encoder", help="Text encoder to use instead of the attack's own.")
@click.option(
    "-m",
    "--mechanism",
    metavar="SPEC",
    type=SpecType(TEXT_MECHANISMS),
    help="Mechanism that made the variants, for informed attacks.  [default: from the file]",
)
@click.option(
    "--as-is",
    is_flag=True,
    help="Do not add missing originals to the log. The risk is then a lower bound.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def attack(
    variants: Path,
    log_file: Path | None,
    attacker: str,
    encoder: str | None,
    mechanism: str | None,
    as_is: bool,
    as_json: bool,
    vectors: str,
) -> None:
    """Attack variants and report what could be inferred.

    VARIANTS is a file with columns id, text and obfuscatedText.

    Texts are compared in the order of the log. Originals that the log lacks are added, with a
    note, unless --as-is is given.
    """
    component = _with_encoder(ATTACKS.parse(attacker), encoder)
    if "log" in component.needs and log_file is None:
        raise InputError(f"The attack '{component.name}' needs a log of queries. Add --log FILE.")
    tables = read_variants(variants)
    log = QueryLog.of(read_log(log_file)) if log_file and "log" in component.needs else None
    informed = "mechanism" in component.needs
    targets = [made_by(table, mechanism or "") if informed else None for table in tables]
    needed = any("space" in component.against(target) for target in targets)
    space = open_vectors(vectors) if needed else None
    results = []
    for table, target in zip(tables, targets, strict=True):
        full_log, missing = (log, 0) if log is None else log.with_queries(table.originals)
        with progress_bar() as report:
            report(f"attacking by {component.name}", 0, 0)
            outcome = run_attack(
                table.rows,
                table.originals,
                log if as_is else full_log,
                component,
                mechanism=target,
                space=space,
                report=report,
            )
        if not len(outcome.ranks):
            raise InputError(
                f"The attack '{component.name}' has nothing to guess in {_label(table)}: no word"
                " was replaced, or there are too few variants."
            )
        results.append(_AttackResult(table, outcome, missing))
    if as_json:
        click.echo(json.dumps([_document(result, str(component)) for result in results], indent=1))
        return
    _show(results, str(component), as_is=as_is)


attack.params.append(VECTORS_OPTION)


def _with_encoder(component: Attack, encoder: str | None) -> Attack:
    """Return the attack with another text encoder, if one is given."""
    if encoder is None:
        return component
    if not isinstance(component, EncoderAttack):
        raise ParameterError(
            f"The attack '{component.name}' does not use a text encoder. Remove --encoder."
        )
    return type(component).load({**dict(component), "encoder": encoder})


def _label(table: VariantTable) -> str:
    parameter = f" {table.parameter}={table.value}" if table.parameter else ""
    return f"{table.mechanism or 'variants'}{parameter}"


def _document(result: _AttackResult, attacker: str) -> dict[str, object]:
    return {
        "mechanism": result.table.mechanism,
        result.table.parameter or "parameter": result.table.value,
        "attacker": attacker,
        "unit": result.outcome.unit,
        "texts": len(result.table.originals),
        "missing_from_log": result.missing,
        "unanswered": result.outcome.silences,
        "ranks": result.outcome.ranks.tolist(),
        "ties": None if result.outcome.ties is None else result.outcome.ties.tolist(),
        "candidates": result.outcome.candidates.tolist(),
        "risk": {
            who: {"value": float(value), "low": value.low, "high": value.high, "chance": blind}
            for who, (value, blind) in result.risks().items()
        },
    }


def _table(results: list[_AttackResult], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("variants")
    table.add_column("guesses", justify="right")
    for who, meaning in _MEANINGS.items():
        table.add_column(f"{who}\n[dim]{meaning}[/dim]", justify="right")
    for result in results:
        table.add_row(escape(_label(result.table)), _guesses(result), *_cells(result))
    table.add_section()
    blind = [f"[dim]{level}[/dim]" for level in _blind(results)]
    table.add_row("[dim]a blind guess[/dim]", "", *blind)
    return table


def _guesses(result: _AttackResult) -> str:
    unit = result.outcome.unit
    return f"{len(result.outcome.ranks):,} {_UNITS.get(unit, f'{unit}s')}"


def _cells(result: _AttackResult) -> list[str]:
    risks = (value for value, _ in result.risks().values())
    return [escape(f"{float(value):.3f} [{value.low:.3f}, {value.high:.3f}]") for value in risks]


def _blind(results: list[_AttackResult]) -> list[str]:
    levels = [[level for _, level in result.risks().values()] for result in results]
    return [f"{max(level):.3g}" for level in zip(*levels, strict=True)]


def _show_narrow(console: Console, results: list[_AttackResult], title: str) -> None:
    """Print the columns below each other when the screen is too narrow for a table."""
    console.print(title, soft_wrap=True)
    for result in results:
        console.print(f"{escape(_label(result.table))}, {_guesses(result)}", soft_wrap=True)
        for (who, meaning), cell in zip(_MEANINGS.items(), _cells(result), strict=True):
            console.print(f"  {cell}  {who} [dim]({meaning})[/dim]", soft_wrap=True)
    pairs = zip(_MEANINGS, _blind(results), strict=True)
    levels = ", ".join(f"{who} {level}" for who, level in pairs)
    console.print(f"[dim]a blind guess: {levels}[/dim]", soft_wrap=True)


def _show(results: list[_AttackResult], attacker: str, *, as_is: bool) -> None:
    console, title = stdout(), f"Risk by {escape(attacker)}: mean, 95 % interval"
    table = _table(results, title)
    if fits(console, table):
        console.print(table)
    else:
        _show_narrow(console, results, title)
    for result in results:
        out = int((result.outcome.ranks > result.outcome.candidates).sum())
        if out and result.outcome.unit == "word":
            stderr().print(
                f"[yellow]{out} of {len(result.outcome.ranks)} words of"
                f" {escape(_label(result.table))} are out of reach: they are not in the word"
                " vectors, or this mechanism cannot have produced the variants. Check"
                " --mechanism.[/yellow]"
            )
        if result.outcome.silences:
            stderr().print(
                f"[yellow]{result.outcome.silences} of {len(result.outcome.ranks)} guesses of"
                f" {escape(_label(result.table))} had no answer and count as failures: the risk is"
                " a lower bound.[/yellow]"
            )
        if result.missing:
            end = "the risk is a lower bound." if as_is else "they were added to it."
            stderr().print(
                f"[yellow]{result.missing} of {len(result.table.originals)} originals of"
                f" {escape(_label(result.table))} are not in the log; {end}[/yellow]"
            )
