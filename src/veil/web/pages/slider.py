"""The search box and its slider: each stop in words and as two bars with their intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veil.core.errors import VeilError
from veil.cover.table import Odds, bound
from veil.proxy.results import GroupView
from veil.proxy.settings import Configuration, Decision, brief
from veil.proxy.slider import RULE, MeasuredPlane, SliderStop
from veil.search.pipeline import MAX_QUERY
from veil.studies.results import Row
from veil.text.mechanisms.queries import QUERY_MECHANISMS
from veil.text.mechanisms.queries.cover import Cover
from veil.web.pages.markup import (
    ON,
    Common,
    Markup,
    bar,
    count,
    figures,
    isolated,
    join,
    share,
    share_at_most,
    shares,
    tag,
    void,
)

GUESSES = 10
_SPACE = "\N{NO-BREAK SPACE}"
_FEW = (1_000, 100)  # lists of possible queries that are short


@dataclass(frozen=True, slots=True)
class Exact:
    """How often an engine that knows everything but the query is right within ten guesses.

    `groups` are what it can tell apart, `queries` how many are possible and equally likely.
    `at_most` says that the share is a bound, as the queries need not be spread over the groups as
    the texts of the table are. Of the texts themselves `odds` has the share by each prior, and
    `share` is the one where all are equally likely.
    """

    groups: int
    queries: int
    share: float
    at_most: bool
    odds: Odds | None = None

    @property
    def shown(self) -> str:
        """The share; a bound is never rounded down."""
        return _rounded_up(self.share) if self.at_most else share(self.share)

    def __str__(self) -> str:
        if self.odds is not None:
            return str(self.odds).replace(" %", f"{_SPACE}%")
        most = "at most " if self.at_most else ""
        return (
            f"An engine that knows everything, with {self.queries:,} possible queries, all equally"
            f" likely, is right within ten guesses in {most}{self.shown} of the cases."
        )


def _rounded_up(value: float) -> str:
    return share(math.ceil(1000 * value - 1e-9) / 1000)


def exact_of(stop: SliderStop) -> Exact | None:
    """Return the exact risk of a stop; None if it has none, or the table is not there yet."""
    if stop.setting.mechanism.partition("(")[0].strip() != Cover.name:
        return None  # nor is it looked for among all packages that are installed
    try:
        mechanism = QUERY_MECHANISMS.parse(stop.setting.mechanism)
    except VeilError:  # a parameter that has another range now
        return None
    if not isinstance(mechanism, Cover) or math.isinf(mechanism.guarantee.bits):
        return None
    table = mechanism.open()
    queries = stop.log_size
    if queries is None or queries == len(table) or table.weighed:
        return _of_odds(table.L, table.odds())
    return Exact(table.L, queries, table.risk(queries), at_most=True)


def exact_group(group: GroupView) -> Exact:
    """Return the exact risk of a group that was sent: every text of the table may be the query."""
    return _of_odds(group.groups, group.odds)


def _of_odds(groups: int, odds: Odds) -> Exact:
    return Exact(groups, odds.texts, odds.equal, at_most=False, odds=odds)


_PRIORS = ("all equally likely", "popular ones likelier")


def exact_bar(found: Exact) -> Markup:
    """Draw the exact risk by each prior; it has no interval."""
    bars = [_exact_bar(found.share, found.shown, _PRIORS[0])]
    popular = found.odds.popular if found.odds else None
    if popular is not None:
        bars.append(_exact_bar(popular, share(popular), _PRIORS[1]))
    return join(*bars)


def _exact_bar(value: float, shown: str, prior: str) -> Markup:
    about = f" among ten guesses, exact, {prior}"
    words = join(tag("strong", "Risk "), shown, tag("small", about))
    return tag("div", tag("p", words), bar(value, f"Risk {shown}, {prior}"), class_="bar risk")


def exact_words(found: Exact) -> str:
    """Name the exact risk by each prior in a few words."""
    told = f"{found.shown} if {_PRIORS[0]}"
    popular = found.odds.popular if found.odds else None
    return told if popular is None else f"{told}, {share(popular)} if {_PRIORS[1]}"


def few(found: Exact) -> str:
    """Say which queries count as possible, and what becomes of it where they are few."""
    told = [
        f"with {queries:,} in up to {_rounded_up(bound(found.groups, queries, GUESSES))}"
        for queries in _FEW
        if queries < found.queries
    ]
    possible = "Possible queries are the texts of the table: your own may be others."
    fewer = (
        f" Who can list fewer, all equally likely, is right more often: {', '.join(told)}."
        if told
        else ""
    )
    return f"{possible}{fewer}"


_UNKNOWN = "not measured in this audit"
_OFTEN = 0.1  # of the queries: above it, going out in clear is a warning
_NEAR = 1e-6  # a share of n queries, times n, is a whole number up to rounding
_COVER = (
    "Until it is moved, the slider stands at cover, whose risk needs no audit: it is exact for an"
    " engine that knows the mechanism, its table and all possible queries, and it is told for ten"
    " guesses, where that of other stops is for one."
)
_SUCCESS = {
    "lazy": "guessed at once",
    "active": "among ten guesses",
    "motivated": "by one divided by the rank",
    "persistent": "by rank-biased precision",
}


def named(setting: Configuration) -> str:
    """Name a setting.

    >>> named(Configuration("cmp(epsilon=5.0)", 20))
    'cmp(epsilon=5.0), 20 variants'
    """
    return f"{brief(setting.mechanism)}, {count(setting.size, 'variant')}"


def stop_text(plane: MeasuredPlane, place: int) -> str:
    """Say all of a stop in one sentence, as the value of the slider."""
    stop = plane.stops[place]
    exact = exact_of(stop)
    row = stop.utility
    useful = f"{row.score:.2f}{_told(figures(row.low, row.high))}" if stop.measured else _UNKNOWN
    risk = f"{share(stop.risk.score)}{_told(shares(stop.risk.low, stop.risk.high))}"
    if exact:
        risk = f"{exact_words(exact)}, among ten guesses, exact"
    return (
        f"Stop {place + 1} of {len(plane.stops)}: {named(stop.setting)}; risk {risk}; utility"
        f" {useful}"
    )


def unmeasured_stop_text(plane: MeasuredPlane, place: int) -> str:
    """Say which stop it is, and nothing that was measured on other documents."""
    return f"Stop {place + 1} of {len(plane.stops)}: {named(plane.stops[place].setting)}"


def bare(stop: SliderStop) -> Markup:
    """Show the setting of a stop alone."""
    return tag(
        "p", tag("code", brief(stop.setting.mechanism)), ", ",
        count(stop.setting.size, "variant"), class_="setting",
    )  # fmt: skip


def abroad(common: Common) -> Markup | str:
    """Say on what the figures were measured, where that is not what is searched here."""
    if not common.foreign:
        return ""
    plane = common.plane
    return tag(
        "p",
        f"Risk and utility were measured on {plane.collection} with {plane.engine}, not on what"
        f" you search here ({common.engine}): there they may be others.",
        class_="hint abroad",
    )


def shown(plane: MeasuredPlane, stop: SliderStop) -> Markup:
    """Show a stop: its setting, its risk and its utility."""
    exact = exact_of(stop)
    return join(
        bare(stop),
        tag("div", exact_bar(exact) if exact else risk_bar(stop),
            utility_bar(stop, plane.plain), class_="bars"),
        tag("p", str(exact), class_="hint") if exact else "",
        _clear(stop),
        _unfaced(warning(stop)) if stop.warning else "",
    )  # fmt: skip


def _clear(stop: SliderStop) -> Markup | str:
    """Say, before anything is sent, how often a query goes out as it is."""
    if stop.clear is None or not stop.clear.score:
        return ""
    told = (
        f"For {share(stop.clear.score)} of the queries of the audit one of the variants was the"
        " query itself, word for word."
    )
    often = stop.clear.score >= _OFTEN
    return tag("p", told, class_="warning" if often else "hint")


def _unfaced(warning: str) -> Markup:
    return tag(
        "details", tag("summary", "Some attackers were not tried on it"), tag("p", warning),
        class_="hint",
    )  # fmt: skip


def warning(stop: SliderStop) -> str:
    """Say which attackers it was spared, by its short name."""
    spec = stop.setting.mechanism
    return stop.warning.replace(spec, brief(spec))


def risk_bar(stop: SliderStop) -> Markup:
    """Draw the measured risk with its interval."""
    row = stop.risk
    kind = _SUCCESS.get(row.measure, row.measure)
    words = join(
        tag("strong", "Risk "), share(row.score),
        tag("small", f"{_told(shares(row.low, row.high))} {kind}"),
    )  # fmt: skip
    drawn = bar(row.score, f"Risk {share(row.score)}", within=(row.low, row.high))
    return tag("div", tag("p", words), drawn, class_="bar risk")


def utility_bar(stop: SliderStop, plain: Row | None) -> Markup:
    """Draw the measured utility with its interval, and say what plain search reached."""
    row = stop.utility
    if not stop.measured:
        return tag("div", tag("p", tag("strong", "Utility "), _UNKNOWN), class_="bar utility")
    beside = f", plain search {plain.score:.2f}" if plain else ""
    words = join(
        tag("strong", "Utility "), f"{row.score:.2f}",
        tag("small", f"{_told(figures(row.low, row.high))}{beside}"),
    )  # fmt: skip
    drawn = bar(
        row.score, f"Utility {row.score:.2f}", within=(row.low, row.high),
        level=plain.score if plain else None,
    )  # fmt: skip
    return tag("div", tag("p", words), drawn, class_="bar utility")


def guessed(stop: SliderStop, *, sized: bool = True) -> str:
    """Say how often the attacker of the audit succeeded, as a sentence; its log is `sized`."""
    row = stop.risk
    interval = shares(row.low, row.high)
    told = f"{share(row.score)}{f', 95 % interval {interval}' if interval else ''}"
    attacker = _attacker(stop) if sized else "an engine with a log"
    return f"In the audit {attacker} {_success(row)} ({told})."


def bounded(stop: SliderStop) -> str:
    """Say what the risk is at most, and for what that holds."""
    if not math.isfinite(stop.upper):
        return "What it is at most is not known."
    return (
        f"It is at most {share_at_most(stop.upper)} with 97.5 % confidence, for queries like"
        " those of the audit and attackers like those tried in it."
    )


def table(plane: MeasuredPlane, current: int, *, links: bool = False) -> Markup:
    """List all stops, from private to useful; with `links` each can be chosen."""
    heads = ("stop", "mechanism", "variants", "risk", "at most", "utility", "attacker")
    body = [_row(stop, i, i == current, links) for i, stop in enumerate(plane.stops)]
    top = tag("tr", *(tag("th", name, scope="col") for name in heads))
    caption = "Stops of the slider, with 95 % intervals; “at most” with 97.5 % confidence"
    inner = tag(
        "table", tag("caption", caption), tag("thead", top), tag("tbody", *body), class_="figures"
    )
    return tag(
        "div", inner, class_="scroll", role="region", aria_label="Stops", tabindex="0"
    )  # fmt: skip


def origin(plane: MeasuredPlane) -> Sequence[Markup]:
    """Say where the stops were measured, and what that does not tell."""
    where = f"an audit {plane.origin}" if plane.shipped else f"the audit in {plane.origin}"
    told = [
        plane.note,
        f"From {where}: {_cases(plane)} of the collection {plane.collection} were put to"
        f" {plane.engine}.{_log(plane)}",
        "Risk is how often the best attacker’s first guess was the query, with all queries of its"
        " log equally likely. Utility is nDCG@10: 1"
        f" is a perfect order of results{_plain(plane.plain)}.",
        "Stops are the best of all that were tried, so that some owe their place to luck; the"
        " confidence holds for each by itself.",
        _COVER if any(not stop.measured for stop in plane.stops) else RULE,
        "Your engine and your queries may differ from those of the audit: ‘veil audit’ measures"
        " what you name.",
    ]
    return [tag("p", one, class_="origin") for one in told if one]


def _row(stop: SliderStop, place: int, current: bool, link: bool) -> Markup:
    risk, utility = stop.risk, stop.utility
    if not stop.measured:
        return _exact_row(stop, place, current, link)
    at_most = share_at_most(stop.upper)
    cells = (
        tag("code", brief(stop.setting.mechanism)),
        str(stop.setting.size),
        join(share(risk.score), " ", tag("small", shares(risk.low, risk.high))),
        at_most,
        join(f"{utility.score:.2f}", " ", tag("small", figures(utility.low, utility.high))),
        tag("code", risk.attacker),
    )
    return _line(cells, place, current, link)


def _exact_row(stop: SliderStop, place: int, current: bool, link: bool) -> Markup:
    """List a stop that the audit did not measure, by what is exact of it."""
    exact = exact_of(stop)
    shown = exact_words(exact) if exact else share(stop.risk.score)
    cells = (
        tag("code", brief(stop.setting.mechanism)), str(stop.setting.size),
        join(shown, " ", tag("small", "among ten guesses")), "exact", tag("small", "not measured"),
        tag("small", stop.risk.attacker),
    )  # fmt: skip
    return _line(cells, place, current, link)


def _line(cells: Sequence[str], place: int, current: bool, link: bool) -> Markup:
    name = tag("a", f"use {place + 1}", href=f"/?stop={place}") if link else str(place + 1)
    head = tag("th", name, tag("small", " now") if current else "", scope="row")
    return tag(
        "tr", head, *(tag("td", cell) for cell in cells), aria_current="true" if current else None
    )


def _attacker(stop: SliderStop) -> str:
    if stop.log_size is None:
        return "an engine"
    return f"an engine with a log of {count(stop.log_size, 'query', 'queries')}"


def _success(row: Row) -> str:
    hits = row.score * row.n
    whole = row.n > 0 and math.isfinite(hits) and abs(hits - round(hits)) <= _NEAR * row.n
    which = f"{round(hits):,} of {count(row.n, 'query', 'queries')}" if whole else "queries"
    if row.kind == "recovery":
        return f"restored {which} as a whole"
    if row.measure == "lazy":
        return f"guessed {which} at the first guess"
    if row.measure == "active":
        return f"had {which} among its first ten guesses"
    return f"guessed, {_SUCCESS.get(row.measure, row.measure)},"


def _cases(plane: MeasuredPlane) -> str:
    return f"{_between({stop.risk.n for stop in plane.stops if stop.measured})} queries"


def _log(plane: MeasuredPlane) -> str:
    measured = [stop for stop in plane.stops if stop.measured]
    sizes = {stop.log_size for stop in measured if stop.log_size is not None}
    if not sizes:
        return ""
    return (
        f" The attackers chose from a log of {_between(sizes)} queries, the true one among them."
    )


def _plain(row: Row | None) -> str:
    return f", and plain search reached {row.score:.2f}, the dashed line" if row else ""


def _between(values: set[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _told(interval: str) -> str:
    return f" ({interval})" if interval else ""


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
        tag("p", plane.uncovered, class_="warning") if plane.uncovered else "",
        _choice(common),
        tag(
            "details",
            tag("summary", "All stops, and where they were measured"),
            *origin(plane),
            table(plane, common.stop),
            class_="stops",
        ),
    )


def _choice(common: Common) -> Markup:
    """Return the slider; of documents of one's own nothing was measured, so no figure is there."""
    plane, now = common.plane, common.stop
    last = len(plane.stops) - 1
    spoken = [
        unmeasured_stop_text(plane, i) if common.own else stop_text(plane, i)
        for i in range(last + 1)
    ]
    bar = void(
        "input", type="range", id="stop", name_="stop", min=0, max=last, step=1, value=now,
        list="stops", autocomplete="off", aria_valuetext=spoken[now], aria_describedby="stop-now",
    )  # fmt: skip
    ticks = [tag("option", value=i) for i in range(last + 1)]
    blocks = [
        tag("div", bare(stop) if common.own else shown(plane, stop), class_="stop",
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
        "" if common.own else abroad(common),
        tag("noscript", tag("p", "Without scripts the bars stay where the page was loaded;"
            " the table of stops has them all.", class_="hint")),
        class_="slider",
    )  # fmt: skip
