"""Cover groups: a public table of texts; k of them are sent in place of a query.

`build` makes a table from public candidate texts, `load` opens one. See
`veil.text.mechanisms.queries.cover` for what is proved.
"""

from veil.cover.builder import build as build
from veil.cover.catalogue import load as load
from veil.cover.table import Odds as Odds
from veil.cover.table import Table as Table
from veil.cover.table import TableMatch as TableMatch
from veil.cover.table import bound as bound
from veil.cover.table import exact_risk as exact_risk
from veil.cover.universe import Universe as Universe
from veil.cover.universe import read_universe as read_universe


def __getattr__(name: str) -> object:
    if name == "Located":  # former name of TableMatch; remove in 0.4
        return TableMatch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
