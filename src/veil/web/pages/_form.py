"""The search box and its slider, and what to press to send a query in clear."""

from veil.proxy.types import Decision
from veil.search.pipeline import MAX_QUERY
from veil.web.pages import _stops
from veil.web.pages.common import Common
from veil.web.pages.markup import ON, Markup, isolated, join, tag, void

_DEMONSTRATED = (
    "Nothing leaves this machine either way. The variants are drawn, searched with and counted in"
    " the ledger as if the engine were elsewhere."
)


def form(common: Common, query: str = "", *, focus: bool = False, shown: bool = False) -> Markup:
    """Return the form of a search; `shown` unfolds the demonstration with documents of one's own.

    No help of the browser is wanted in the box: some of it sends what is typed elsewhere.
    """
    box = void(
        "input", type="search", id="q", name_="q", value=query[:MAX_QUERY] or None,
        maxlength=MAX_QUERY, required=ON, dir="auto", autocomplete="off", autocapitalize="off",
        autocorrect="off", spellcheck="false", writingsuggestions="false", enterkeyhint="search",
        autofocus=ON if focus else None,
    )  # fmt: skip
    label = "Search these documents" if common.own else "Search privately"
    return tag(
        "form",
        tag("label", label, for_="q"),
        tag("div", box, tag("button", "Search", type="submit"), class_="line"),
        tag("p", role="status", class_="working"),
        _demonstration(common, shown=shown) if common.own else _slider(common),
        action="/search",
        method="post",
        role="search",
        class_="search",
        data_here=ON if common.own else None,
    )


def in_clear(common: Common, query: str, gate: Decision | None) -> Markup:
    """Offer to send a query in clear, where a rule lets it pass; it is never done unasked."""
    if gate is None or gate.action != "pass" or common.own:
        return Markup("")
    why = gate.reason or "A rule of yours lets this query pass."
    fields = (("q", query[:MAX_QUERY]), ("stop", common.stop), ("plain", 1))
    return tag(
        "form",
        tag("p", isolated(why), " In clear the engine reads it word by word, unprotected."),
        *(void("input", type="hidden", name_=name, value=value) for name, value in fields),
        tag("button", "Send this query in clear", type="submit", class_="plain"),
        action="/search",
        method="post",
        class_="note",
    )  # fmt: skip


def _demonstration(common: Common, *, shown: bool) -> Markup:
    """Offer the private way where nothing leaves this machine, as what it is."""
    return tag(
        "details",
        tag("summary", "Show what an engine elsewhere would see (demonstration)"),
        tag("p", _DEMONSTRATED, class_="hint"),
        _choice(common),
        tag("button", "Demonstrate", type="submit", name_="demo", value=1),
        open=ON if shown else None,
        class_="demo",
    )


def _slider(common: Common) -> Markup:
    plane = common.plane
    return join(
        _choice(common),
        tag(
            "details",
            tag("summary", "All stops, and where they were measured"),
            *_stops.origin(plane),
            _stops.table(plane, common.stop),
            class_="stops",
        ),
    )


def _choice(common: Common) -> Markup:
    """Return the slider; of documents of one's own nothing was measured, so no figure is there."""
    plane, now = common.plane, common.stop
    last = len(plane.stops) - 1
    spoken = [
        _stops.unmeasured(plane, i) if common.own else _stops.spoken(plane, i)
        for i in range(last + 1)
    ]
    bar = void(
        "input", type="range", id="stop", name_="stop", min=0, max=last, step=1, value=now,
        list="stops", autocomplete="off", aria_valuetext=spoken[now], aria_describedby="stop-now",
    )  # fmt: skip
    ticks = [tag("option", value=i) for i in range(last + 1)]
    blocks = [
        tag("div", _stops.bare(stop) if common.own else _stops.shown(plane, stop), class_="stop",
            data_stop=i, data_size=stop.setting.size, data_spoken=spoken[i],
            hidden=None if i == now else ON)
        for i, stop in enumerate(plane.stops)
    ]  # fmt: skip
    return tag(
        "div",
        tag("label", "From private to useful", for_="stop"),
        tag("div", tag("span", "private", aria_hidden="true"), bar,
            tag("span", "useful", aria_hidden="true"), class_="ends"),
        tag("datalist", *ticks, id="stops"),
        tag("output", *blocks, id="stop-now", for_="stop", aria_live="off"),
        "" if common.own else _stops.abroad(common),
        tag("noscript", tag("p", "Without scripts the bars stay where the page was loaded;"
            " the table of stops has them all.", class_="hint")),
        class_="slider",
    )  # fmt: skip
