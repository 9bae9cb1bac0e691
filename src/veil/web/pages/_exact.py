"""The exact risk of a mechanism that sends one of a fixed number of groups: no experiment."""

import math
from dataclasses import dataclass

from veil.core.errors import VeilError
from veil.cover.table import bound
from veil.proxy.results import Group
from veil.proxy.slider import Stop
from veil.text.mechanisms.queries import QUERY_MECHANISMS
from veil.text.mechanisms.queries.cover import Cover
from veil.web.pages._bar import bar
from veil.web.pages._words import share
from veil.web.pages.markup import Markup, join, tag

GUESSES = 10
_FEW = (1_000, 100)  # lists of possible queries that are short


@dataclass(frozen=True, slots=True)
class Exact:
    """How often an engine that knows everything but the query is right within ten guesses.

    `groups` are what it can tell apart, `queries` how many are possible and equally likely.
    `at_most` says that the share is a bound, as the queries need not be spread over the groups as
    the texts of the table are.
    """

    groups: int
    queries: int
    share: float
    at_most: bool

    @property
    def shown(self) -> str:
        """The share; a bound is never rounded down."""
        return _rounded_up(self.share) if self.at_most else share(self.share)

    def __str__(self) -> str:
        most = "at most " if self.at_most else ""
        return (
            f"An engine that knows everything, with {self.queries:,} possible queries, is right"
            f" within ten guesses in {most}{self.shown} of the cases."
        )


def _rounded_up(value: float) -> str:
    return share(math.ceil(1000 * value - 1e-9) / 1000)


def exact_of(stop: Stop) -> Exact | None:
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
    if queries is None or queries == len(table):
        return Exact(table.L, len(table), table.risk(), at_most=False)
    return Exact(table.L, queries, table.risk(queries), at_most=True)


def exact_group(group: Group) -> Exact:
    """Return the exact risk of a group that was sent: every text of the table may be the query."""
    return Exact(group.groups, group.texts, group.active, at_most=False)


def exact_bar(found: Exact) -> Markup:
    """Draw the exact risk, which has no interval."""
    words = join(tag("strong", "Risk "), found.shown, tag("small", " among ten guesses, exact"))
    drawn = bar(found.share, f"Risk {found.shown}")
    return tag("div", tag("p", words), drawn, class_="bar risk")


def few(found: Exact) -> str:
    """Say which queries count as possible, and what becomes of it where they are few."""
    told = [
        f"with {queries:,} in up to {_rounded_up(bound(found.groups, queries, GUESSES))}"
        for queries in _FEW
        if queries < found.queries
    ]
    possible = (
        "Possible queries are the texts of the table, all equally likely: your own may be others."
    )
    fewer = f" Who can list fewer is right more often: {', '.join(told)}." if told else ""
    return f"{possible}{fewer}"
