"""The settings of the slider in words: mechanism, measured or exact risk, utility."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veil.core.errors import VeilError
from veil.cover.table import Odds, bound
from veil.proxy.results import GroupView
from veil.proxy.settings import Configuration, brief
from veil.proxy.slider import RULE, MeasuredPlane, SliderStop
from veil.search.pipeline import MAX_QUERY
from veil.studies.results import Row
from veil.text.mechanisms.queries import QUERY_MECHANISMS
from veil.text.mechanisms.queries.cover import Cover
from veil.web.pages.shell import Common
from veil.web.pages.words import count, figures, share, share_at_most, shares

GUESSES = 10
_SPACE = "\N{NO-BREAK SPACE}"
_FEW = (1_000, 100)  # sizes of short lists of possible queries
_PRIORS = ("all equally likely", "popular ones likelier")


@dataclass(frozen=True, slots=True)
class Exact:
    """How often an engine that knows everything but the query is right within ten guesses.

    `groups` is the number of groups it can distinguish, `queries` the number of possible queries,
    all equally likely. `at_most` means that the share is an upper bound, because the queries may
    be distributed over the groups differently from the texts of the table. For the texts
    themselves, `odds` has the share under each prior, and `share` is for equally likely texts.
    """

    groups: int
    queries: int
    share: float
    at_most: bool
    odds: Odds | None = None

    @property
    def bars(self) -> tuple[tuple[float, str, str], ...]:
        """The value, label and prior of each bar; an exact risk has no interval."""
        bars = [(self.share, self.shown, _PRIORS[0])]
        popular = self.odds.popular if self.odds else None
        if popular is not None:
            bars.append((popular, share(popular), _PRIORS[1]))
        return tuple(bars)

    @property
    def words(self) -> str:
        """The risk under each prior in a few words."""
        return ", ".join(f"{shown} if {prior}" for _, shown, prior in self.bars)

    @property
    def few(self) -> str:
        """Which queries count as possible, and the risk if there are fewer."""
        cases = [
            f"with {queries:,} in up to {_rounded_up(bound(self.groups, queries, GUESSES))}"
            for queries in _FEW
            if queries < self.queries
        ]
        possible = "Possible queries are the texts of the table; yours may be different."
        if not cases:
            return possible
        return (
            f"{possible} An attacker who can list fewer, all equally likely, is right more"
            f" often: {', '.join(cases)}."
        )

    @property
    def shown(self) -> str:
        """The share; an upper bound is never rounded down."""
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
    """Return the exact risk of a setting; None if it is unknown or the table is not built yet."""
    if stop.setting.mechanism.partition("(")[0].strip() != Cover.name:
        return None  # avoids searching all installed packages
    try:
        mechanism = QUERY_MECHANISMS.parse(stop.setting.mechanism)
    except VeilError:  # the range of a parameter has changed
        return None
    if not isinstance(mechanism, Cover) or math.isinf(mechanism.guarantee.bits):
        return None
    table = mechanism.open()
    queries = stop.log_size
    if queries is None or queries == len(table) or table.weighed:
        return _of_odds(table.L, table.odds())
    return Exact(table.L, queries, table.risk(queries), at_most=True)


def exact_group(group: GroupView) -> Exact:
    """Return the exact risk of a group that was sent; any text of the table may be the query."""
    return _of_odds(group.groups, group.odds)


def _of_odds(groups: int, odds: Odds) -> Exact:
    return Exact(groups, odds.texts, odds.equal, at_most=False, odds=odds)


_UNKNOWN = "not measured in this audit"
_OFTEN = 0.1  # a larger share of queries sent word for word gives a warning
_NEAR = 1e-6  # tolerance for a share of n queries, times n, to be an integer
_COVER = (
    "By default, the slider is at cover, whose risk needs no audit: it is exact for an engine"
    " that knows the mechanism, its table and all possible queries. It is for ten guesses, that"
    " of other settings is for one."
)
_SUCCESS = {
    "lazy": "guessed at once",
    "active": "among ten guesses",
    "motivated": "by one divided by the rank",
    "persistent": "by rank-biased precision",
}


def setting_text(setting: Configuration) -> str:
    """Return a setting in words.

    >>> setting_text(Configuration("cmp(epsilon=5.0)", 20))
    'cmp(epsilon=5.0), 20 variants'
    """
    return f"{brief(setting.mechanism)}, {count(setting.size, 'variant')}"


@dataclass(frozen=True)
class Stop:
    """A setting of the slider, as shown by the templates.

    Attributes
    ----------
    place, last
        Its index, and that of the last setting.
    stop
        The setting, with the figures of the audit.
    exact
        Its exact risk, or None.
    """

    place: int
    last: int
    stop: SliderStop
    exact: Exact | None

    @property
    def setting(self) -> Configuration:
        """The mechanism and the number of variants."""
        return self.stop.setting

    @property
    def bare_text(self) -> str:
        """Number and mechanism, without anything measured on other documents."""
        return f"Setting {self.place + 1} of {self.last + 1}: {setting_text(self.setting)}"

    @property
    def text(self) -> str:
        """The whole setting in a sentence, as the value of the slider."""
        row = self.stop.utility
        useful = f"{row.score:.2f}{self.utility_interval}" if self.stop.measured else _UNKNOWN
        risk = f"{share(self.stop.risk.score)}{self.risk_interval}"
        if self.exact:
            risk = f"{self.exact.words}, among ten guesses, exact"
        return f"{self.bare_text}; risk {risk}; utility {useful}"

    @property
    def risk_interval(self) -> str:
        """The interval of the risk in brackets, or ""."""
        return _bracketed(shares(self.stop.risk.low, self.stop.risk.high))

    @property
    def utility_interval(self) -> str:
        """The interval of the utility in brackets, or ""."""
        return _bracketed(figures(self.stop.utility.low, self.stop.utility.high))

    @property
    def success(self) -> str:
        """What counts as a success of the attacker."""
        return _SUCCESS.get(self.stop.risk.measure, self.stop.risk.measure)

    @property
    def often_clear(self) -> bool:
        """Whether so many queries were sent word for word that a warning is shown."""
        return self.stop.clear is not None and self.stop.clear.score >= _OFTEN

    @property
    def warning(self) -> str:
        """The attackers that were not tried, with the short name of the mechanism."""
        spec = self.setting.mechanism
        return self.stop.warning.replace(spec, brief(spec))

    def guessed(self, *, sized: bool) -> str:
        """Return how often the audit's attacker succeeded; `sized` adds the size of its log."""
        row = self.stop.risk
        interval = shares(row.low, row.high)
        result = f"{share(row.score)}{f', 95 % interval {interval}' if interval else ''}"
        attacker = _attacker(self.stop) if sized else "an engine with a log"
        return f"In the audit, {attacker} {_success(row)} ({result})."

    @property
    def bounded(self) -> str:
        """An upper bound of the risk, and the queries and attackers it holds for."""
        if not math.isfinite(self.stop.upper):
            return "No upper bound is known."
        return (
            f"It is at most {share_at_most(self.stop.upper)} with 97.5 % confidence, for queries"
            " like those of the audit and attackers like those tried in it."
        )


def stops_of(plane: MeasuredPlane) -> tuple[Stop, ...]:
    """Return all settings of the slider, from private to useful."""
    last = len(plane.stops) - 1
    return tuple(Stop(place, last, stop, exact_of(stop)) for place, stop in enumerate(plane.stops))


def search_values(
    common: Common, query: str = "", *, focus: bool = False, shown: bool = False
) -> dict[str, object]:
    """Return the values of ``search-form.html``.

    `focus` puts the cursor into the form; `shown` unfolds the simulation on the user's own
    documents.
    """
    stops = stops_of(common.plane)
    return {
        "common": common, "query": query[:MAX_QUERY], "max_query": MAX_QUERY, "focus": focus,
        "shown": shown, "stops": stops, "now": stops[common.stop],
        "sources": sources(common.plane),
    }  # fmt: skip


def sources(plane: MeasuredPlane) -> Sequence[str]:
    """Return where the settings were measured, and the limits of that."""
    where = f"an audit {plane.origin}" if plane.shipped else f"the audit in {plane.origin}"
    sentences = [
        plane.note,
        f"From {where}: {_cases(plane)} of the collection {plane.collection}, with the engine"
        f" {plane.engine}.{_log(plane)}",
        "Risk is how often the best attacker’s first guess was the query, with all queries of"
        " its log equally likely. Utility is nDCG@10: 1 is a perfect"
        f" ranking{_plain_text(plane.plain)}.",
        "The settings are the best of all that were tried, so some owe their place to luck; the"
        " confidence is for each setting separately.",
        _COVER if any(not stop.measured for stop in plane.stops) else RULE,
        "Your engine and your queries may differ from those of the audit. Run ‘veil audit’ to"
        " measure yours.",
    ]
    return [sentence for sentence in sentences if sentence]


def _attacker(stop: SliderStop) -> str:
    if stop.log_size is None:
        return "an engine"
    return f"an engine with a log of {count(stop.log_size, 'query', 'queries')}"


def _success(row: Row) -> str:
    hits = row.score * row.n
    whole = row.n > 0 and math.isfinite(hits) and abs(hits - round(hits)) <= _NEAR * row.n
    which = f"{round(hits):,} of {count(row.n, 'query', 'queries')}" if whole else "queries"
    if row.kind == "recovery":
        return f"restored {which} completely"
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


def _plain_text(row: Row | None) -> str:
    return f", and plain search reached {row.score:.2f}, the dashed line" if row else ""


def _between(values: set[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _bracketed(interval: str) -> str:
    return f" ({interval})" if interval else ""
