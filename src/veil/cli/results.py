"""A private search on the screen."""

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
from veil.cli.options import DeskFlags, SearchChoices
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
from veil.search.locality import DEMONSTRATION, HERE, stand_in_notice
from veil.search.pipeline import MAX_QUERY, check_query
from veil.text.mechanisms.mechanism import LAYOUT, UNKNOWN, TextMechanism
from veil.text.mechanisms.queries.cover import NOT_COVERED

_PER_WORD = ("metric-dp", "umldp", "group-dp", "none")  # kinds that are told as a product
_SNIPPET = 200  # characters
_WITHOUT = "Nothing was sent; --no-ledger searches without the ledger, for experiments."
FAR = 0.35  # cosine below which a table says little of a query


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
        api.mechanism(choices.mechanism)  # what is wrong with it is told before anything is opened

    def setting_for(desk: Desk, report: Report) -> Configuration:
        spec = choices.mechanism or usual_mechanism(desk.standing)
        variants = usual_size(api.mechanism(spec), choices.size, report)
        return Configuration(spec, variants, choices.unknown, choices.policies, choices.select)

    found, desk = _found(text, setting_for, flags, choices)
    reranked = flags["encoder"] != "none"
    if found.here and not as_json:
        show_here(found, show, reranked=reranked)
        return
    with count_as_sent() if not found.here else nullcontext():
        try:  # first: standard output may be closed
            _record(record, found)
        finally:
            if as_json:
                _print_json(found, flags["engine"], desk)
            else:
                chosen = api.mechanism(found.setting.mechanism)
                show_results(text, found, chosen, show, desk, reranked=reranked)
            sys.stdout.flush()


def _found(
    text: str,
    setting_for: Callable[[Desk, Report], Configuration],
    flags: DeskFlags,
    choices: SearchChoices,
) -> tuple[SearchOutcome, Desk]:
    """Search through a desk, privately unless nothing leaves the machine; return it, too."""
    from veil.proxy.opening import open_desk  # long to load

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
                found = desk.search(text, setting)
    except LedgerError as error:
        raise LedgerError(f"{error} {_WITHOUT}") from None
    if space is not None:
        warn_scale(flags["vectors"], space)
    return found, desk


def _print_json(found: SearchOutcome, engine: str, desk: Desk) -> None:
    """Print the whole result; the true query is not in it."""
    from veil.proxy.answers import SearchDocument
    from veil.proxy.opening import strip_address

    variants, named = [seen.text for seen in found.seen], strip_address(engine)
    document = SearchDocument.of(
        found, network=desk.network, standing=desk.standing, engine=named, variants=variants
    )
    click.echo(escaped_json(document.model_dump_json(indent=1), sys.stdout.encoding or "utf-8"))


def _record(path: Path | None, found: SearchOutcome) -> None:
    """Write what was sent and answered, where that is asked for."""
    if path is not None and found.answers is not None:
        write_recording(path, [Released(seen.text) for seen in found.seen], found.answers)


def _read() -> str:
    """Read one query from standard input, where neither `ps` nor the history sees it."""
    text = sys.stdin.read(MAX_QUERY + 2)
    if "\n" in text.strip():
        raise InputError("Standard input must hold one query, on one line.")
    return text.strip()


def _require_new(record: Path | None) -> None:
    """Say that a recording cannot be written before anything is sent."""
    if record is not None:
        require_folder(record)
        if record.exists():
            raise InputError(f"There is a file {record} already; delete it, or name another.")


def show_results(
    query: str,
    found: SearchOutcome,
    mechanism: TextMechanism,
    show: int,
    desk: Desk,
    *,
    reranked: bool = True,
) -> None:
    """Print the results, what the engine saw, what came back, and what it cost."""
    console = stdout()
    if desk.standing == "own":
        console.print(f"[yellow]{DEMONSTRATION}[/yellow]", soft_wrap=True)
    elif desk.standing == "stand-in":
        name = printable(desk.collection or desk.engine)
        console.print(escape(stand_in_notice(name)), soft_wrap=True)
    how = "by your query" if reranked else "by the ranks in the engine's lists"
    console.print(f"\n[bold]Results[/bold], put in order on this machine {how}")
    _show_items(console, found.results, show)
    if found.cover is None:
        _show_variants(console, query, found.seen)
    else:
        _show_group(console, found.cover, found.seen)
    _show_gaps(console, [seen.gap for seen in found.seen])
    _show_back(console, found, network=desk.network)
    _show_checked(console, found.preflight, cover=found.cover is not None)
    _show_cost(console, found, mechanism)


def show_here(found: SearchOutcome, show: int, *, reranked: bool = True) -> None:
    """Print the results of a search that nothing left this machine for, and why that is so."""
    console = stdout()
    console.print(HERE, soft_wrap=True)
    how = "put in order by your query" if reranked else "in the engine's own order"
    console.print(f"\n[bold]Results[/bold], {how}")
    _show_items(console, found.results, show)
    console.print(
        "Nothing was sent, and nothing was written to the ledger. With a --mechanism you see, as a"
        " demonstration, what an engine elsewhere would see.",
        soft_wrap=True,
    )


def _show_cost(console: Console, found: SearchOutcome, mechanism: TextMechanism) -> None:
    if found.cover is None:
        cost = escape(_cost(found, mechanism))
        console.print(f"[bold]What it cost[/bold]\n  {cost}", soft_wrap=True)
    else:
        _show_leakage(console, found, found.cover)
    if found.ledger:
        console.print(f"  {found.news} {_account(found)}", soft_wrap=True)
    caveat = _caveat(found.cost, mechanism.guarantee)
    warnings = [escape(caveat)] if caveat else []
    if found.kept:
        kept = " ".join(dict.fromkeys(found.kept))
        warnings.append(f"Sent unchanged, not selected or kept by policy: {escape(kept)}")
    if not found.ledger:
        warnings.append(NO_LEDGER)
    if found.seeded:
        warnings.append("Seeded: the draws can be repeated. NOT PRIVATE.")
    for warning in warnings:
        console.print(f"  [yellow]{warning}[/yellow]", soft_wrap=True)


def _show_leakage(console: Console, found: SearchOutcome, group: GroupView) -> None:
    """Say in a line what is guaranteed, and in another what is not."""
    console.print(
        f"[bold]What is guaranteed[/bold]\n  The engine learnt which of {group.groups:,} groups"
        f" was asked for and nothing else: at most {bits_of(found.cost.bits)}. {group.odds}",
        soft_wrap=True,
    )
    console.print(f"  [dim]{escape(NOT_COVERED)}[/dim]", soft_wrap=True)


def _cost(found: SearchOutcome, mechanism: TextMechanism) -> str:
    guarantee = mechanism.guarantee
    if guarantee.kind not in _PER_WORD:
        return f"{found.cost}. {found.cost.caveat}".strip()
    cost = cost_of(guarantee, found.words, len(found.seen)).removeprefix("Cost: ")
    if guarantee.kind == "none":
        return cost
    return f"{cost} The less, the better: fewer variants and a smaller epsilon tell less."


def _caveat(cost: Guarantee, guarantee: Guarantee) -> str:
    """Return what the cost does not cover, but for what stands in the cost or in the manual."""
    if guarantee.kind not in _PER_WORD:
        return ""  # the cost is told with all of it
    told = guarantee.caveat if guarantee.kind in ("umldp", "none") else ""
    rest = cost.caveat
    for sentence in filter(None, (told, LAYOUT, UNKNOWN)):
        rest = rest.replace(sentence, "")
    return " ".join(rest.split())


def _account(found: SearchOutcome) -> str:
    """Say what was spent now, and what is left."""
    spent, left, told = found.spent, found.budget.left, number_of
    if found.cover is not None:
        spent, left, told = found.bits, found.budget.bits_left, bits_of
    now = f"Newly spent: {told(spent)}" if math.isfinite(spent) else "No sum covers it"
    day = "no budget is set"
    if left is not None:
        day = f"{told(left)} {'is' if told(left) == '1 bit' else 'are'} left for 24 hours"
    more = ""
    if found.earlier_bits:
        more += f" Other settings released of this query before: {bits_of(found.earlier_bits)}."
    if found.earlier:
        sum_ = number_of(found.earlier) if math.isfinite(found.earlier) else "without bound"
        more += f" Other settings released of this query before: {sum_}, on top of this."
    return f"{now}; {day} (entry {found.release} of the ledger).{more}"


def _show_checked(console: Console, checked: PreflightResult | None, *, cover: bool) -> None:
    if checked is None:
        return
    console.print("[bold]What local attackers made of it before it was sent[/bold]")
    if checked.standings and not console.is_terminal:  # a secret: for the person alone
        console.print("  They were tried; where your query stands is shown on a terminal only.")
    for one in checked.standings if console.is_terminal else ():
        console.print(f"  {one.attacker} {_place(one, cover=cover)}", soft_wrap=True)
    if checked.unable:
        names = ", ".join(checked.unable)
        console.print(f"  Cannot be used against this mechanism or query: {names}.")
    if checked.draws > 1:
        console.print(f"  {checked.draws} draws were looked at, and one was chosen.")
    console.print()


def _place(one: TruthRank, *, cover: bool) -> str:
    """Say in which places a query may be; of cover, one size is told, that of the table."""
    of = "" if cover else f" of {one.candidates:,}"
    if one.ties == 1:
        return f"puts your query in place {one.rank:,}{of}."
    return (
        f"cannot tell your query from {count_of(one.ties - 1, 'other')}: places {one.rank:,} to"
        f" {one.last:,}{of}, {one.mean:,.1f} on average."
    )


def _show_items(console: Console, items: Sequence[ResultItem], show: int) -> None:
    if not items:
        console.print("  Nothing was found.\n")
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
    """Show words of others as words: a document must not steer the terminal."""
    return " ".join(printable(text).split())


def _cut(text: str, most: int = _SNIPPET) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " ..."


def _show_variants(console: Console, query: str, seen: Sequence[SentVariant]) -> None:
    """List what was sent; words that are not of the query are marked."""
    sent = Counter(one.text for one in seen)
    pieces = {one.text: one.marks for one in seen}
    colours = console.color_system is not None and not console.no_color
    legend = " ([green]changed[/green], [red]unchanged[/red] words)" if colours else ""
    console.print(f"[bold]What the engine saw[/bold]: {count_of(len(seen), 'variant')}{legend}")
    for variant, times in sent.items():
        marked = "".join(map(_marked, pieces[variant])) + (
            f" [dim](drawn {times} times)[/dim]" if times > 1 else ""
        )
        console.print(Padding(marked, (0, 0, 0, 2), expand=False))
    plain = " ".join(query.casefold().split())
    clear = sum(
        times for variant, times in sent.items() if " ".join(variant.casefold().split()) == plain
    )
    if clear and console.is_terminal:  # a secret: for the person alone, not for a file
        console.print(
            f"  [yellow]{count_of(clear, 'variant')} came out equal to your query: at this"
            " budget the mechanism changes little. Choose a smaller epsilon.[/yellow]",
            soft_wrap=True,
        )
    console.print()


def _show_group(console: Console, group: GroupView, seen: Sequence[SentVariant]) -> None:
    """List the texts of the group that was sent, and who else would send the same."""
    of = f"group {group.address + 1:,} of {group.groups:,}" if group.address >= 0 else "a group"
    console.print(
        f"[bold]What the engine saw[/bold]: {of}, {len(seen)} fixed texts on different topics, one"
        " of them near yours"
    )
    for one in seen:
        console.print(Padding(escape(printable(one.text)), (0, 0, 0, 2), expand=False))
    others = "; ".join(printable(_cut(each, 50)) for each in group.others[:5])
    if others:
        rest = f" and for {count_of(group.same, 'text')} of the table in all."
        console.print(f"  [dim]The same would be sent for: {escape(others)} ...{rest}[/dim]")
    else:
        console.print(
            "  [dim]It is of an earlier table, as your query was asked before: another group now"
            " would tell more.[/dim]"
        )
    if group.stayed:
        console.print("  Your query is near to an earlier one, and was answered from its group.")
    if group.session:
        console.print(
            "  Another group was sent shortly before: texts near to that one would have stayed"
            " there, and are not counted."
        )
    if group.cosine < FAR and console.is_terminal:  # a secret: for the person alone
        console.print(
            "  [yellow]The table knows little of what you ask (perhaps it is in another language):"
            " results may be poor. It hides you all the same.[/yellow]"
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


def _show_back(console: Console, found: SearchOutcome, *, network: bool) -> None:
    back, deep = found.back, found.back_deep
    console.print("[bold]How much of the plain ranking came back[/bold]")
    if network:
        console.print("  Not measured: the engine would have to see your query.\n")
    elif not (back and back[1]):
        console.print("  Not known: your query by itself brings nothing here.\n")
    else:
        console.print(
            f"  {back[0]} of the first {back[1]} results that your query by itself would bring are"
            " among the first ten."
        )
        if deep and deep[1]:
            console.print(
                f"  The variants brought {found.depth:,} documents. Of a plain search that puts as"
                f" many in order, it is {deep[0]} of {deep[1]}."
            )
        console.print()
