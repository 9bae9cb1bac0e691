"""What was released when: without the queries, which are not stored."""

from collections.abc import Sequence
from datetime import datetime

from veil.proxy.settings import Budget, Release, brief
from veil.text.mechanisms.queries.cover import Cover
from veil.web.pages.markup import (
    Common,
    Markup,
    amount,
    bits,
    count,
    hidden,
    isolated,
    join,
    moment,
    tag,
    void,
)
from veil.web.pages.shell import document, leaked_text, spent_text

_HEADS = ("Entry", "Released", "How", "Words", "Spent", "Asked", "")
_WHAT = (
    "Each entry is a release: the variants that were drawn for one query under one setting. The"
    " queries themselves are not stored, unless a variant came out equal to one; an entry is found"
    " again by a keyed hash, so that asking the same again sends nothing new."
)
_FORGET = (
    "Forgetting deletes an entry here. What the engine saw it has seen, and what was spent stays"
    " spent. Asking the same again then draws new variants, which cost anew and tell the engine"
    " more than the old ones alone; by cover the same fixed texts may be sent, and their bits"
    " count again."
)


def ledger(common: Common, releases: Sequence[Release], older: int | None) -> str:
    """Return what was released when, newest first."""
    return document(
        "Ledger",
        tag("h1", "Ledger"),
        tag("p", _WHAT, class_="lead"),
        tag("p", f"{spent_text(common.budget)}{_bits(common.budget)}."),
        _table(releases) if releases else _none(),
        tag("p", tag("a", "Older entries", href=f"/ledger?before={older}", rel="next"),
            class_="older") if older is not None else "",
        tag("p", _FORGET, class_="hint", id="forgetting") if releases else "",
        common=common,
        here="/ledger",
        kind="ledger",
    )  # fmt: skip


def _none() -> Markup:
    return tag("p", "Nothing was released yet, or nothing older than this.", class_="empty")


def _table(releases: Sequence[Release]) -> Markup:
    heads = [
        tag("th", name or hidden("Forget"), scope="col", role="columnheader") for name in _HEADS
    ]
    return tag(
        "table",
        tag("caption", "Releases, newest first", class_="aside-only"),
        tag("thead", tag("tr", *heads, role="row"), role="rowgroup"),
        tag("tbody", *(_row(one) for one in releases), role="rowgroup"),
        role="table",  # as a list of cards it would lose its roles
        class_="entries",
    )


def _row(one: Release) -> Markup:
    cells = (
        (_time(one.made),),
        (_how(one),),
        (_words(one),),
        (_spent(one),),
        (_asked(one),),
        (_forget(one.number),),
    )
    shown = [
        tag("td", tag("div", *cell), role="cell", data_head=head or None)
        for head, cell in zip(_HEADS[1:], cells, strict=True)
    ]
    head = tag("th", tag("div", str(one.number)), scope="row", role="rowheader", data_head="Entry")
    return tag("tr", head, *shown, role="row", id=f"entry-{one.number}",
               class_="in-clear" if one.plain else None)  # fmt: skip


def _how(one: Release) -> Markup:
    if one.plain:
        return join(tag("strong", "Sent in clear"), " at your request; its text is not kept.")
    lines = [tag("li", isolated(text)) for text in one.variants]
    chosen = tag("p", "Released because it passed a local attack: outside of the guarantee.",
                 class_="hint") if one.chosen else ""  # fmt: skip
    return join(
        tag("code", brief(one.mechanism)),
        chosen,
        tag("details", tag("summary", count(len(lines), "variant")),
            tag("ol", *lines, class_="variants")),
    )  # fmt: skip


def _bits(budget: Budget) -> str:
    known = budget.bits or budget.bits_limit is not None
    return f", and {leaked_text(budget)} of leakage" if known else ""


def _spent(one: Release) -> str:
    if one.plain:
        return "not measured"
    return bits(one.bits) if _is_group(one) else amount(one.spent)


def _is_group(one: Release) -> bool:
    return one.bits > 0 or one.mechanism.partition("(")[0] == Cover.name


def _words(one: Release) -> str:
    if one.plain or _is_group(one):
        return "–"
    return f"{one.words:,}, {one.shared:,} shared" if one.shared else f"{one.words:,}"


def _asked(one: Release) -> Markup:
    if one.asked <= 1:
        return join("once")
    return join(f"{one.asked:,} times, last ", _time(one.last))


def _time(when: datetime) -> Markup:
    return tag("time", moment(when), datetime=when.isoformat(timespec="seconds"))


def _forget(number: int) -> Markup:
    """Offer to forget an entry, in two steps: it cannot be taken back."""
    button = tag(
        "button", "Forget it", hidden(f": entry {number}"), type="submit",
        aria_describedby="forgetting",
    )  # fmt: skip
    field = void("input", type="hidden", name_="number", value=number)
    return tag(
        "details",
        tag("summary", "Forget", hidden(f" entry {number}")),
        tag("form", field, button, action="/ledger/forget", method="post"),
    )
