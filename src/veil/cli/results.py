"""Run a search and print its results, or write them as JSON."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from veil import api
from veil.cli.commands import count_as_sent
from veil.cli.options import FAR, DeskFlags, SearchChoices
from veil.cli.screen import cost_of, warn_scale
from veil.cli.terminal import progress_bar, stdout
from veil.core.errors import InputError, LedgerError
from veil.core.formatting import bits_of, count_of, escaped_json, number_of, printable
from veil.core.guarantee import Guarantee
from veil.core.types import Released
from veil.data.fetch import Report
from veil.data.files import require_folder
from veil.proxy.desk import Desk
from veil.proxy.results import GroupView, ResultItem, SearchOutcome, SentVariant, VariantPiece
from veil.proxy.settings import (
    NO_LEDGER,
    Configuration,
    PreflightResult,
    TruthRank,
    usual_mechanism,
    usual_size,
)
from veil.search.engines.local.replay import record as write_recording
from veil.search.locality import HERE, SIMULATION, stand_in_notice
from veil.search.pipeline import MAX_QUERY, check_query
from veil.text.mechanisms.mechanism import LAYOUT, UNKNOWN, TextMechanism
from veil.text.mechanisms.queries.cover import NOT_COVERED

_PER_WORD = ("metric-dp", "umldp", "group-dp", "none")  # kinds whose cost is a product
_SNIPPET = 200  # characters
_WITHOUT = "Nothing was sent. For experiments, --no-ledger searches without the ledger."


def run_search(
    query: str,
    choices: SearchChoices,
    flags: DeskFlags,
    *,
    show: int,
    as_json: bool,
    record: Path | None,
) -> None:
    """Search, and print the results or write them as JSON."""
    text = check_query(_read() if query == "-" else query)
    _require_new(record)
    if choices.mechanism is not None:
        api.mechanism(choices.mechanism)  # reports a bad spec before anything is opened

    def setting_for(desk: Desk, report: Report) -> Configuration:
        spec = choices.mechanism or usual_mechanism(desk.standing)
        variants = usual_size(api.mechanism(spec), choices.size, report)
        return Configuration(spec, variants, choices.unknown, choices.policies, choices.select)

    outcome, desk = _search(text, setting_for, flags, choices)
    reranked = flags["encoder"] != "none"
    if outcome.here and not as_json:
        show_here(outcome, show, reranked=reranked)
        return
    with count_as_sent() if not outcome.here else nullcontext():
        try:  # before printing: standard output may be closed
            _record(record, outcome)
        finally:
            if as_json:
                _print_json(outcome, flags["engine"], desk)
            else:
                mechanism = api.mechanism(outcome.setting.mechanism)
                show_results(text, outcome, mechanism, show, desk, reranked=reranked)
            sys.stdout.flush()


def _search(
    text: str,
    setting_for: Callable[[Desk, Report], Configuration],
    flags: DeskFlags,
    choices: SearchChoices,
) -> tuple[SearchOutcome, Desk]:
    """Return the outcome of a search and its desk; plain search is used only on this machine."""
    from veil.proxy.opening import open_desk  # slow to load

    try:
        with (
            progress_bar() as report,
            closing(
                open_desk(
                    **flags,
                    once=True,
                    plainly=choices.plainly,
                    ledger=choices.counted,
                    seed=choices.seed,
                    report=report,
                )
            ) as desk,
        ):
            if choices.plainly and desk.standing == "own":
                report("searching", 0, 0)
                return desk.search_here(text), desk
            report("preparing the mechanism", 0, 0)
            setting = setting_for(desk, report)
            space = desk.ready(setting, report)
            report("searching", 0, 0)
            with count_as_sent():
                outcome = desk.search(text, setting)
    except LedgerError as error:
        raise LedgerError(f"{error} {_WITHOUT}") from None
    if space is not None:
        warn_scale(flags["vectors"], space)
    return outcome, desk


def _print_json(outcome: SearchOutcome, engine: str, desk: Desk) -> None:
    """Print the whole result as JSON, without the true query."""
    from veil.proxy.answers import SearchDocument
    from veil.proxy.opening import strip_address

    variants, address = [variant.text for variant in outcome.seen], strip_address(engine)
    document = SearchDocument.of(
        outcome, network=desk.network, standing=desk.standing, engine=address, variants=variants
    )
    click.echo(escaped_json(document.model_dump_json(indent=1), sys.stdout.encoding or "utf-8"))


def _record(path: Path | None, outcome: SearchOutcome) -> None:
    """Write the variants sent and the answers, if the user requested a recording."""
    if path is not None and outcome.answers is not None:
        write_recording(
            path, [Released(variant.text) for variant in outcome.seen], outcome.answers
        )


def _read() -> str:
    """Read one query from standard input, which keeps it out of `ps` and the shell history."""
    text = sys.stdin.read(MAX_QUERY + 2)
    if "\n" in text.strip():
        raise InputError("Standard input must contain one query on one line.")
    return text.strip()


def _require_new(record: Path | None) -> None:
    """Raise an error if a recording cannot be written, before anything is sent."""
    if record is not None:
        require_folder(record)
        if record.exists():
            raise InputError(f"File {record} already exists. Delete it or choose another.")


def show_results(
    query: str,
    outcome: SearchOutcome,
    mechanism: TextMechanism,
    show: int,
    desk: Desk,
    *,
    reranked: bool = True,
) -> None:
    """Print the results, what the engine saw, the overlap with the plain ranking, and the cost."""
    console = stdout()
    if desk.standing == "own":
        console.print(f"[yellow]{SIMULATION}[/yellow]", soft_wrap=True)
    elif desk.standing == "stand-in":
        name = printable(desk.collection or desk.engine)
        console.print(escape(stand_in_notice(name)), soft_wrap=True)
    how = "by your query" if reranked else "by the ranks in the engine's lists"
    console.print(f"\n[bold]Results[/bold], re-ranked on this machine {how}")
    _show_items(console, outcome.results, show)
    if outcome.cover is None:
        _show_variants(console, query, outcome.seen)
    else:
        _show_group(console, outcome.cover, outcome.seen)
    _show_gaps(console, [variant.gap for variant in outcome.seen])
    _show_back(console, outcome, network=desk.network)
    _show_checked(console, outcome.preflight, cover=outcome.cover is not None)
    _show_cost(console, outcome, mechanism)


def show_here(outcome: SearchOutcome, show: int, *, reranked: bool = True) -> None:
    """Print the results of a search that sent nothing, and the reason."""
    console = stdout()
    console.print(HERE, soft_wrap=True)
    how = "re-ranked by your query" if reranked else "in the engine's order"
    console.print(f"\n[bold]Results[/bold], {how}")
    _show_items(console, outcome.results, show)
    console.print(
        "Nothing was sent, and nothing was written to the ledger. Add --mechanism to simulate what"
        " a remote engine would see.",
        soft_wrap=True,
    )


def _show_cost(console: Console, outcome: SearchOutcome, mechanism: TextMechanism) -> None:
    if outcome.cover is None:
        cost = escape(_cost(outcome, mechanism))
        console.print(f"[bold]Cost[/bold]\n  {cost}", soft_wrap=True)
    else:
        _show_leakage(console, outcome, outcome.cover)
    if outcome.ledger:
        console.print(f"  {outcome.news} {_account(outcome)}", soft_wrap=True)
    caveat = _caveat(outcome.cost, mechanism.guarantee)
    warnings = [escape(caveat)] if caveat else []
    if outcome.kept:
        unchanged = " ".join(dict.fromkeys(outcome.kept))
        warnings.append(f"Sent unchanged, not selected or kept by policy: {escape(unchanged)}")
    if not outcome.ledger:
        warnings.append(NO_LEDGER)
    if outcome.seeded:
        warnings.append("Reproducible because of a seed: NOT PRIVATE.")
    for warning in warnings:
        console.print(f"  [yellow]{warning}[/yellow]", soft_wrap=True)


def _show_leakage(console: Console, outcome: SearchOutcome, group: GroupView) -> None:
    """Print the guarantee of a cover group and its limits."""
    console.print(
        f"[bold]Guarantee[/bold]\n  The engine learnt which of {group.groups:,} groups"
        f" was sent and nothing else: at most {bits_of(outcome.cost.bits)}. {group.odds}",
        soft_wrap=True,
    )
    console.print(f"  [dim]{escape(NOT_COVERED)}[/dim]", soft_wrap=True)


def _cost(outcome: SearchOutcome, mechanism: TextMechanism) -> str:
    guarantee = mechanism.guarantee
    if guarantee.kind not in _PER_WORD:
        return f"{outcome.cost}. {outcome.cost.caveat}".strip()
    cost = cost_of(guarantee, outcome.words, len(outcome.seen)).removeprefix("Cost: ")
    if guarantee.kind == "none":
        return cost
    return f"{cost} Lower is better: fewer variants and a smaller epsilon reveal less."


def _caveat(cost: Guarantee, guarantee: Guarantee) -> str:
    """Return the limits of the cost that neither its text nor the documentation mentions."""
    if guarantee.kind not in _PER_WORD:
        return ""  # the text of the cost includes them
    shown = guarantee.caveat if guarantee.kind in ("umldp", "none") else ""
    rest = cost.caveat
    for sentence in filter(None, (shown, LAYOUT, UNKNOWN)):
        rest = rest.replace(sentence, "")
    return " ".join(rest.split())


def _account(outcome: SearchOutcome) -> str:
    """Return the budget spent now and the remainder, as text."""
    spent, remaining, to_text = outcome.spent, outcome.budget.left, number_of
    if outcome.cover is not None:
        spent, remaining, to_text = outcome.bits, outcome.budget.bits_left, bits_of
    now = f"Newly spent: {to_text(spent)}" if math.isfinite(spent) else "No sum covers it"
    day = "no budget is set"
    if remaining is not None:
        amount = to_text(remaining)
        day = f"{amount} {'is' if amount == '1 bit' else 'are'} left for 24 hours"
    more, others = "", "Earlier releases of this query with other settings"
    if outcome.earlier_bits:
        more += f" {others}: {bits_of(outcome.earlier_bits)}."
    if outcome.earlier:
        sum_ = number_of(outcome.earlier) if math.isfinite(outcome.earlier) else "without bound"
        more += f" {others}: {sum_}, in addition."
    return f"{now}; {day} (ledger entry {outcome.release}).{more}"


def _show_checked(console: Console, checked: PreflightResult | None, *, cover: bool) -> None:
    if checked is None:
        return
    console.print("[bold]Local attacks before sending[/bold]")
    if checked.standings and not console.is_terminal:  # secret: show on a terminal only
        console.print("  Local attacks ran. The rank of your query is shown only on a terminal.")
    for rank in checked.standings if console.is_terminal else ():
        console.print(f"  {rank.attacker} {_place(rank, cover=cover)}", soft_wrap=True)
    if checked.unable:
        names = ", ".join(checked.unable)
        console.print(f"  Not applicable to this mechanism or query: {names}.")
    if checked.draws > 1:
        console.print(f"  One of {checked.draws} draws was chosen.")
    console.print()


def _place(rank: TruthRank, *, cover: bool) -> str:
    """Return the ranks that a query may have; for cover, the table size is omitted."""
    of = "" if cover else f" of {rank.candidates:,}"
    if rank.ties == 1:
        return f"ranks your query {rank.rank:,}{of}."
    return (
        f"cannot distinguish your query from {count_of(rank.ties - 1, 'other')}: rank"
        f" {rank.rank:,} to {rank.last:,}{of}, {rank.mean:,.1f} on average."
    )


def _show_items(console: Console, items: Sequence[ResultItem], show: int) -> None:
    if not items:
        console.print("  No results.\n")
        return
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    table.add_column(justify="right", style="dim")
    for item in items[:show]:
        name, title, text = _words(item.id), _words(item.title), _words(item.text)
        head = f"[bold]{escape(title or name)}[/bold]"
        if title:
            head += f"  [dim]{escape(name)}[/dim]"
        snippet = f"\n{escape(_cut(text))}" if text else ""
        where = f"\n[dim]{escape(_words(item.path))}[/dim]" if item.path else ""
        table.add_row(str(item.rank), head + snippet + where, f"{item.score:.3f}")
    console.print(table)
    rest = len(items) - show
    console.print(f"  [dim]and {rest:,} more (--show)[/dim]\n" if rest > 0 else "")


def _words(text: str) -> str:
    """Escape control characters: a document must not control the terminal."""
    return " ".join(printable(text).split())


def _cut(text: str, most: int = _SNIPPET) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " ..."


def _show_variants(console: Console, query: str, variants: Sequence[SentVariant]) -> None:
    """Print the variants sent, and mark the words that differ from the query."""
    counts = Counter(item.text for item in variants)
    pieces = {item.text: item.marks for item in variants}
    colours = console.color_system is not None and not console.no_color
    legend = " ([green]changed[/green], [red]unchanged[/red] words)" if colours else ""
    console.print(
        f"[bold]What the engine saw[/bold]: {count_of(len(variants), 'variant')}{legend}"
    )
    for variant, times in counts.items():
        marked = "".join(map(_marked, pieces[variant])) + (
            f" [dim](drawn {times} times)[/dim]" if times > 1 else ""
        )
        console.print(Padding(marked, (0, 0, 0, 2), expand=False))
    normal_query = " ".join(query.casefold().split())
    clear = sum(
        times
        for variant, times in counts.items()
        if " ".join(variant.casefold().split()) == normal_query
    )
    if clear and console.is_terminal:  # secret: show on a terminal only
        console.print(
            f"  [yellow]{count_of(clear, 'variant')} came out equal to your query: with this"
            " epsilon, the mechanism changes little. Choose a smaller one.[/yellow]",
            soft_wrap=True,
        )
    console.print()


def _show_group(console: Console, group: GroupView, variants: Sequence[SentVariant]) -> None:
    """Print the texts of the group that was sent, and other texts with the same group."""
    of = f"group {group.address + 1:,} of {group.groups:,}" if group.address >= 0 else "a group"
    console.print(
        f"[bold]What the engine saw[/bold]: {of}, {len(variants)} fixed texts on different topics,"
        " one of them close to your query"
    )
    for variant in variants:
        console.print(Padding(escape(printable(variant.text)), (0, 0, 0, 2), expand=False))
    others = "; ".join(printable(_cut(other, 50)) for other in group.others[:5])
    if others:
        total = count_of(group.same, "text")
        console.print(
            f"  [dim]{total} of the table share this group, for instance: {escape(others)}[/dim]"
        )
    else:
        console.print(
            "  [dim]The group is from an earlier table, because you searched for this before:"
            " another group now would reveal more.[/dim]"
        )
    if group.stayed:
        console.print("  Your query is close to an earlier one and was answered from its group.")
    if group.session:
        console.print(
            "  Another group was sent shortly before: texts close to that one would have reused it"
            " and are not counted."
        )
    if group.cosine < FAR and console.is_terminal:  # secret: show on a terminal only
        console.print(
            "  [yellow]The table has little on your subject, or your query is in another language."
            " Results may be poor, but you are hidden all the same.[/yellow]"
        )
    console.print()


def _marked(mark: VariantPiece) -> str:
    text = escape(printable(mark.text))
    if mark.kind == "layout":
        return text
    colour = "red" if mark.kind in ("same", "kept") else "green"
    return f"[{colour}]{text}[/{colour}]"


def _show_gaps(console: Console, gaps: Sequence[str]) -> None:
    reasons = Counter(reason for reason in gaps if reason)
    for reason, times in reasons.most_common(5):
        console.print(
            f"[yellow]{count_of(times, 'variant')} of {len(gaps)} not answered: {escape(reason)}"
            "[/yellow]\n",
            soft_wrap=True,
        )


def _show_back(console: Console, outcome: SearchOutcome, *, network: bool) -> None:
    back, deep = outcome.back, outcome.back_deep
    console.print("[bold]Overlap with the plain ranking[/bold]")
    if network:
        console.print("  Not measured: the engine would have to see your query.\n")
    elif not (back and back[1]):
        console.print("  Unknown: a plain search returns nothing here.\n")
    else:
        console.print(
            f"  {back[0]} of the first {back[1]} results of a plain search are in the first ten."
        )
        if deep and deep[1]:
            console.print(
                f"  The variants returned {outcome.depth:,} documents. Compared with a plain"
                f" search that re-ranks as many, it is {deep[0]} of {deep[1]}."
            )
        console.print()
