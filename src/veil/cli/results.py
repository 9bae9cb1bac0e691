"""The screen of a private search."""

import math
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from veil.cli.screen import cost_of
from veil.cli.terminal import stdout
from veil.core.formatting import bits_of, count_of, number_of, printable
from veil.core.guarantee import Guarantee
from veil.proxy.desk import Desk
from veil.proxy.results import GroupView, ResultItem, SearchOutcome, SentVariant, VariantPiece
from veil.proxy.settings import NO_LEDGER, PreflightResult, TruthRank
from veil.search.locality import DEMONSTRATION, HERE, stand_in_notice
from veil.text.mechanisms.mechanism import LAYOUT, UNKNOWN, TextMechanism
from veil.text.mechanisms.queries.cover import NOT_COVERED

_PER_WORD = ("metric-dp", "umldp", "group-dp", "none")  # kinds that are told as a product
_SNIPPET = 200  # characters
FAR = 0.35  # cosine below which a table says little of a query


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
