"""The screen of a private search."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from veil.cli._screen import stdout
from veil.cli._summary import cost_of
from veil.core.amounts import count_of
from veil.core.printable import printable
from veil.core.types import Ranking
from veil.corpus.text import tokens
from veil.search.pipeline import SearchResult
from veil.text.mechanisms.mechanism import TextMechanism

_SNIPPET = 200  # characters


def show_results(
    query: str,
    result: SearchResult,
    mechanism: TextMechanism,
    back: tuple[int, int] | None,
    show: int,
    caveats: Sequence[str] = (),
    *,
    network: bool,
    reranked: bool = True,
) -> None:
    """Print the results, what the engine saw, what came back, and what it cost."""
    console = stdout()
    how = "by your query" if reranked else "by the ranks in the engine's lists"
    console.print(f"\n[bold]Results[/bold], put in order on this machine {how}")
    _show_ranking(console, result.ranking, show)
    _show_variants(console, query, result)
    _show_gaps(console, result.gaps)
    _show_back(console, back, network=network)
    _show_cost(console, result, mechanism, caveats)


def _show_cost(
    console: Console, result: SearchResult, mechanism: TextMechanism, caveats: Sequence[str]
) -> None:
    words, sent = result.variants.protected[0], len(result.variants[0])
    cost = escape(_cost(mechanism, words, sent))
    console.print(f"[bold]What it cost[/bold]\n  {cost}", soft_wrap=True)
    for caveat in caveats:
        console.print(f"  [yellow]{caveat}[/yellow]", soft_wrap=True)
    if result.variants.kept[0]:
        kept = " ".join(dict.fromkeys(result.variants.kept[0]))
        console.print(
            f"  [yellow]Sent unchanged, not selected or kept by policy: {escape(kept)}[/yellow]",
            soft_wrap=True,
        )
    if result.variants.seeded:
        console.print("  [yellow]Seeded: the draws can be repeated. NOT PRIVATE.[/yellow]")


def _cost(mechanism: TextMechanism, words: int, sent: int) -> str:
    cost = cost_of(mechanism.guarantee, words, sent).removeprefix("Cost: ")
    if mechanism.guarantee.kind == "none":
        return cost
    return f"{cost} The less, the better: fewer variants and a smaller epsilon tell less."


def _show_ranking(console: Console, ranking: Ranking, show: int) -> None:
    listed = [place for place in ranking.index[0] if place >= 0]
    if not listed:
        console.print("  Nothing was found.\n")
        return
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    table.add_column(justify="right", style="dim")
    for rank, place in enumerate(listed[:show], start=1):
        name = _words(ranking.items[place])
        title = _words(ranking.titles[place] if ranking.titles else "")
        text = _words(ranking.texts[place] if ranking.texts else "")
        head = f"[bold]{escape(title or name)}[/bold]"
        if title:
            head += f"  [dim]{escape(name)}[/dim]"
        snippet = f"\n{escape(_cut(text))}" if text else ""
        table.add_row(str(rank), head + snippet, f"{ranking.scores[0][rank - 1]:.3f}")
    console.print(table)
    rest = len(listed) - show
    console.print(f"  [dim]and {rest:,} more (--show)[/dim]\n" if rest > 0 else "")


def _words(text: str) -> str:
    """Show words of others as words: a document must not steer the terminal."""
    return " ".join(printable(text).split())


def _cut(text: str) -> str:
    return text if len(text) <= _SNIPPET else text[:_SNIPPET].rsplit(" ", 1)[0] + " ..."


def _show_variants(console: Console, query: str, result: SearchResult) -> None:
    """List what was sent; words that are not of the query are marked."""
    own = {query[token.start : token.end].casefold() for token in tokens(query)}
    sent = Counter(str(variant) for variant in result.variants[0])
    colours = console.color_system is not None and not console.no_color
    legend = " ([green]changed[/green], [red]unchanged[/red] words)" if colours else ""
    console.print(
        f"[bold]What the engine saw[/bold]: {count_of(len(result.variants[0]), 'variant')}{legend}"
    )
    for variant, times in sent.items():
        marked = _marked(variant, own) + (
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


def _marked(variant: str, own: set[str]) -> str:
    parts, at = [], 0
    for token in tokens(variant):
        word = variant[token.start : token.end]
        colour = "red" if word.casefold() in own else "green"
        parts.append(escape(printable(variant[at : token.start])))
        parts.append(f"[{colour}]{escape(printable(word))}[/{colour}]")
        at = token.end
    return "".join([*parts, escape(printable(variant[at:]))])


def _show_gaps(console: Console, gaps: tuple[str, ...]) -> None:
    reasons = Counter(reason for reason in gaps if reason)
    for reason, times in reasons.most_common(5):
        console.print(
            f"[yellow]{count_of(times, 'variant')} of {len(gaps)} not answered: {escape(reason)}"
            "[/yellow]\n",
            soft_wrap=True,
        )


def _show_back(console: Console, back: tuple[int, int] | None, *, network: bool) -> None:
    console.print("[bold]How much of the plain ranking came back[/bold]")
    if network:
        console.print("  Not measured: the engine would have to see your query.\n")
    elif back is None:
        console.print("  Not known: your query by itself brings nothing here.\n")
    else:
        console.print(
            f"  {back[0]} of the first {back[1]} results that your query by itself would bring are"
            " among the first ten.\n"
        )
