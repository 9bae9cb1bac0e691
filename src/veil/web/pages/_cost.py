"""What a search cost, and what of it was new."""

from veil.proxy.results import Found
from veil.web.pages._words import amount, bits, count
from veil.web.pages.markup import Markup, isolated, join, tag


def cost(found: Found, *, own: bool = False) -> Markup:
    """Say what was spent now and all in all, and what went to the engine.

    `own` of a demonstration with documents of the user's own, in which nothing is sent.
    """
    spent = amount(found.spent) if found.cover is None else bits(found.bits)
    pairs: list[tuple[str, tuple[str, ...]]] = [
        ("Searched with" if own else "Sent now", (_sent(found),)),
        ("Newly spent", (spent,)),
    ]
    if not found.plain:
        pairs.append(("This query in all", (str(found.cost),)))
    if not found.plain and found.cover is None:
        pairs.append(("Words replaced", (_replaced(found),)))
    if found.earlier:
        pairs.append(("By other settings", (f"{amount(found.earlier)}, on top of this",)))
    if found.earlier_bits:
        pairs.append(("By other settings", (f"{bits(found.earlier_bits)}, on top of this",)))
    pairs.append(("In the ledger", (_entry(found.release),)))
    return join(
        tag("p", found.news, class_="told"),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", *says)) for name, says in pairs),
            class_="facts"),
        tag("p", found.cost.caveat, class_="hint") if found.cost.caveat else "",
        _kept(found.kept),
    )  # fmt: skip


def _sent(found: Found) -> str:
    if found.plain:
        return "the query, in clear" if found.sent else "nothing: its answer was remembered"
    different = len({one.text for one in found.seen})
    noun = "variant" if found.cover is None else "text"
    if found.sent >= different:
        return count(found.sent, noun)
    if not found.sent:
        return f"none of {different:,} {noun}s: the answers were remembered"
    return f"{found.sent:,} of {different:,} {noun}s: other answers were remembered"


def _replaced(found: Found) -> str:
    if not found.shared:
        return f"{found.words:,}"
    return f"{found.words:,}, {found.shared:,} of them drawn for related queries before"


def _entry(number: int) -> Markup:
    return tag("a", f"entry {number}", href=f"/ledger?before={number + 1}#entry-{number}")


def _kept(kept: tuple[str, ...]) -> Markup:
    if not kept:
        return Markup("")
    words = join(*(tag("li", isolated(word)) for word in dict.fromkeys(kept)))
    return tag(
        "div",
        tag("p", "Sent as they are, by a policy: the guarantee says nothing of them."),
        tag("ul", words, class_="words"),
        class_="warning",
    )
