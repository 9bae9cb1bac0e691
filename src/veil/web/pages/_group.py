"""What the engine saw of a cover group: k fixed texts by track, and who else sends the same."""

from veil.proxy.results import Found, Group
from veil.proxy.types import brief
from veil.web.pages._words import count
from veil.web.pages.markup import Markup, hidden, isolated, join, tag

_FIRST = 5  # tracks that are shown at once
_OTHERS = 5  # public texts of the same group
_FAR = 0.35  # cosine below which the table knows little of a query


def group(found: Found, sent: Group) -> Markup:
    """Show the texts of a group, one for each track."""
    lines = [
        tag("li", hidden(f"Track {i}: "), tag("bdi", one.text),
            tag("p", "No answer: ", tag("bdi", one.gap), class_="gap") if one.gap else "")
        for i, one in enumerate(found.seen, start=1)
    ]  # fmt: skip
    first, more = lines[:_FIRST], lines[_FIRST:]
    rest = tag(
        "details", tag("summary", count(len(more), "more track")),
        tag("ol", *more, class_="variants tracks", start=_FIRST + 1),
    ) if more else ""  # fmt: skip
    return join(
        tag("p", f"{_named(sent)}: ", count(len(found.seen), "fixed public text"),
            ", one for each track (a topic of its own), by ",
            tag("code", brief(found.setting.mechanism)),
            ". One of the tracks is that of your query; the texts are the same for every query of"
            " the group."),
        tag("ol", *first, class_="variants tracks"),
        rest,
        _far(sent),
        _others(sent),
    )  # fmt: skip


def _named(sent: Group) -> str:
    if sent.address < 0:
        return "A group of an earlier table, as this query was asked before"
    return f"Group {sent.address + 1:,} of {sent.groups:,}"


def _others(sent: Group) -> Markup:
    """Name some public texts that would have been sent for in the same way."""
    if not sent.others:
        return Markup("")
    step = max(1, len(sent.others) // _OTHERS)
    some = [tag("li", isolated(text)) for text in sent.others[::step][:_OTHERS]]
    return join(
        tag("h3", "Who else would send the same"),
        tag("p", "Whoever asks for one of these, or for anything near to them:", class_="hint"),
        tag("ul", *some, class_="others"),
    )


def _far(sent: Group) -> Markup | str:
    if sent.cosine >= _FAR:
        return ""
    return tag(
        "p",
        "The table has no text that is near to your query (it may be in another language), so that"
        " the results may be poor; what the engine learns is bounded all the same.",
        class_="warning",
    )
