"""``veil attack``: what an engine could infer from variants that anybody made."""

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
from veil.corpus.logs import read_log
from veil.measures.estimate import Estimate
from veil.measures.risk import ATTACKERS, Attacker, chance, risk
from veil.text.api import attack as run_attack
from veil.text.attacks import ATTACKS
from veil.text.attacks.attack import Attack, EncoderAttack, Outcome
from veil.text.attacks.log import QueryLog
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS
from veil.text.variants import VariantTable, made_by, read_variants

_MEANINGS: dict[Attacker, str] = {
    "lazy": "right at once",
    "active": "among the first 10",
    "motivated": "mean of 1 / rank",
    "persistent": "rank-biased",
}
_UNITS = {"query": "queries"}


@dataclass(frozen=True)
class _Found:
    """What came of one table of variants."""

    table: VariantTable
    outcome: Outcome
    missing: int  # originals that were not in the log

    def risks(self) -> dict[str, tuple[Estimate, float]]:
        """Return, per measure of success, the risk and what a blind guess would reach."""
        found = self.outcome
        ranks, among, prior = found.ranks, found.candidates, found.prior
        return {
            who: (
                risk(ranks, who, candidates=among, groups=found.subjects, ties=found.ties),
                chance(among, who, ranks=ranks, prior=prior, prior_ties=found.prior_ties),
            )
            for who in ATTACKERS
        }


@click.command()
@click.argument("variants", type=click.Path(path_type=Path))
@click.option("--log", "log_file", type=click.Path(path_type=Path), help="queries, one per line")
@click.option(
    "-a",
    "--attack",
    "--attacker",
    "attacker",
    metavar="SPEC",
    type=SpecType(ATTACKS),
    default="inference",
    show_default=True,
    help=f"attack: {', '.join(sorted(ATTACKS.builtin))}, with parameters in brackets",
)
@click.option("--encoder", help="model of texts in place of the attacker's own")
@click.option(
    "-m",
    "--mechanism",
    metavar="SPEC",
    type=SpecType(TEXT_MECHANISMS),
    help="spec of the mechanism, for informed attackers  [default: as the file says]",
)
@click.option(
    "--as-is", is_flag=True, help="do not add originals that the log lacks: a lower bound"
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
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

    Texts are compared in the order of the log; originals that the log lacks are added to it, which
    is said, unless --as-is.
    """
    chosen = _with_encoder(ATTACKS.parse(attacker), encoder)
    if "log" in chosen.needs and log_file is None:
        raise InputError(f"The {chosen.name} attacker needs a log of queries; name it with --log.")
    tables = read_variants(variants)
    log = QueryLog.of(read_log(log_file)) if log_file and "log" in chosen.needs else None
    knows = "mechanism" in chosen.needs
    informed = [made_by(table, mechanism or "") if knows else None for table in tables]
    needed = any("space" in chosen.against(one) for one in informed)
    space = open_vectors(vectors) if needed else None
    found = []
    for table, known_mechanism in zip(tables, informed, strict=True):
        known, missing = (log, 0) if log is None else log.with_queries(table.originals)
        with progress_bar() as report:
            report(f"attacking by {chosen.name}", 0, 0)
            outcome = run_attack(
                table.rows,
                table.originals,
                log if as_is else known,
                chosen,
                mechanism=known_mechanism,
                space=space,
                report=report,
            )
        if not len(outcome.ranks):
            raise InputError(
                f"There is nothing for the {chosen.name} attacker to guess in"
                f" {_label(table)}: no word was replaced, or there are too few variants."
            )
        found.append(_Found(table, outcome, missing))
    if as_json:
        click.echo(json.dumps([_document(each, str(chosen)) for each in found], indent=1))
        return
    _show(found, str(chosen), as_is=as_is)


attack.params.append(VECTORS_OPTION)


def _with_encoder(chosen: Attack, encoder: str | None) -> Attack:
    """Return the attacker with another model of texts, where one was named."""
    if encoder is None:
        return chosen
    if not isinstance(chosen, EncoderAttack):
        raise ParameterError(
            f"The {chosen.name} attacker compares no vectors of texts; leave --encoder out."
        )
    return type(chosen).load({**dict(chosen), "encoder": encoder})


def _label(table: VariantTable) -> str:
    parameter = f" {table.parameter}={table.value}" if table.parameter else ""
    return f"{table.mechanism or 'variants'}{parameter}"


def _document(found: _Found, attacker: str) -> dict[str, object]:
    return {
        "mechanism": found.table.mechanism,
        found.table.parameter or "parameter": found.table.value,
        "attacker": attacker,
        "unit": found.outcome.unit,
        "texts": len(found.table.originals),
        "missing_from_log": found.missing,
        "unanswered": found.outcome.silences,
        "ranks": found.outcome.ranks.tolist(),
        "ties": None if found.outcome.ties is None else found.outcome.ties.tolist(),
        "candidates": found.outcome.candidates.tolist(),
        "risk": {
            who: {"value": float(value), "low": value.low, "high": value.high, "chance": blind}
            for who, (value, blind) in found.risks().items()
        },
    }


def _table(found: list[_Found], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("variants")
    table.add_column("guesses", justify="right")
    for who, meaning in _MEANINGS.items():
        table.add_column(f"{who}\n[dim]{meaning}[/dim]", justify="right")
    for each in found:
        table.add_row(escape(_label(each.table)), _guesses(each), *_cells(each))
    table.add_section()
    blind = [f"[dim]{level}[/dim]" for level in _blind(found)]
    table.add_row("[dim]a blind guess[/dim]", "", *blind)
    return table


def _guesses(each: _Found) -> str:
    unit = each.outcome.unit
    return f"{len(each.outcome.ranks):,} {_UNITS.get(unit, f'{unit}s')}"


def _cells(each: _Found) -> list[str]:
    risks = (value for value, _ in each.risks().values())
    return [escape(f"{float(value):.3f} [{value.low:.3f}, {value.high:.3f}]") for value in risks]


def _blind(found: list[_Found]) -> list[str]:
    levels = [[level for _, level in each.risks().values()] for each in found]
    return [f"{max(level):.3g}" for level in zip(*levels, strict=True)]


def _show_narrow(console: Console, found: list[_Found], title: str) -> None:
    """Put one below the other what has no room side by side; no name is cut."""
    console.print(title, soft_wrap=True)
    for each in found:
        console.print(f"{escape(_label(each.table))}, {_guesses(each)}", soft_wrap=True)
        for (who, meaning), cell in zip(_MEANINGS.items(), _cells(each), strict=True):
            console.print(f"  {cell}  {who} [dim]({meaning})[/dim]", soft_wrap=True)
    pairs = zip(_MEANINGS, _blind(found), strict=True)
    told = ", ".join(f"{who} {level}" for who, level in pairs)
    console.print(f"[dim]a blind guess: {told}[/dim]", soft_wrap=True)


def _show(found: list[_Found], attacker: str, *, as_is: bool) -> None:
    console, title = stdout(), f"Risk by {escape(attacker)}: mean, 95 % interval"
    table = _table(found, title)
    if fits(console, table):
        console.print(table)
    else:
        _show_narrow(console, found, title)
    for each in found:
        out = int((each.outcome.ranks > each.outcome.candidates).sum())
        if out and each.outcome.unit == "word":
            stderr().print(
                f"[yellow]{out} of {len(each.outcome.ranks)} words of {escape(_label(each.table))}"
                " are out of the attacker's reach: the vectors do not know them, or by this"
                " mechanism they cannot have given what was seen; is it the right one?[/yellow]"
            )
        if each.outcome.silences:
            stderr().print(
                f"[yellow]{each.outcome.silences} of {len(each.outcome.ranks)} guesses of"
                f" {escape(_label(each.table))} had no answer and count as not found: the risk is"
                " a lower bound.[/yellow]"
            )
        if each.missing:
            end = "the risk is a lower bound." if as_is else "they were added to it."
            stderr().print(
                f"[yellow]{each.missing} of {len(each.table.originals)} originals of"
                f" {escape(_label(each.table))} are not in the log; {end}[/yellow]"
            )
