"""The slider with cover in front: its risk is exact, whatever the audit measured."""

import math
from dataclasses import replace

from veil.cover.table import Table
from veil.data.fetch import Report, silent
from veil.proxy.plane import Plane
from veil.proxy.stop import Stop, start, stops_of
from veil.proxy.types import Setting
from veil.proxy.usual import usual_mechanism
from veil.search.locality import Place
from veil.studies.table import Row
from veil.text.mechanisms import find
from veil.text.mechanisms.queries.cover import Cover

ATTACKER = "knows everything"  # in the place of the name of an attacker of an audit
_EMBEDDED = "cover(table='icd10cm'"
_MISSING = (
    "cover, which hides most, is not on the slider: its table of {0} is not there yet. Build it"
    " once with 'veil cover build {0}', and start again."
)


def with_cover(plane: Plane, standing: Place, report: Report = silent) -> Plane:
    """Return the slider for an engine that stands there: it starts with cover.

    The table of the embedded catalogue is built now if it is not there. That of wordnet, for
    engines elsewhere, takes long: where it is not there, `Plane.note` says how to build it. For
    documents of the user's own, which are searched without it, it is there or not.
    """
    mechanism = find.mechanism(usual_mechanism(standing))
    if not isinstance(mechanism, Cover):
        return plane
    if standing == "elsewhere":
        plane = without_embedded(plane)
    if math.isinf(mechanism.guarantee.bits) and standing != "stand-in":
        told = _MISSING.format(mechanism.table) if standing == "elsewhere" else ""
        return replace(plane, note=f"{plane.note} {told}".strip())
    table = mechanism.open(report)
    setting = Setting(str(mechanism), table.k)
    place = plane.place(setting)
    if place is not None:  # the audit measured it
        return replace(plane, default=place)
    return replace(plane, stops=(_unmeasured(plane, setting, table), *plane.stops), default=0)


def without_embedded(plane: Plane) -> Plane:
    """Return the slider without the table of the embedded catalogue: it fits no other engine."""
    if not any(_EMBEDDED in stop.setting.mechanism for stop in plane.stops):
        return plane
    rows = [row for row in plane.rows if _EMBEDDED not in row.spec]
    stops = stops_of(rows, plane.collection, plane.engine)
    return replace(plane, stops=stops, default=start(stops)) if stops else plane


def _unmeasured(plane: Plane, setting: Setting, table: Table) -> Stop:
    """Make a stop of what is exact: the results of it were not measured."""
    chance = 1 / len(table)
    risk = Row(
        table.universe, "", "cover", setting.mechanism, "", 0.0, table.k, "risk", "active",
        ATTACKER, table.risk(), math.nan, math.nan, len(table), chance,
    )  # fmt: skip
    useful = replace(
        plane.stops[0].utility, mechanism="cover", spec=setting.mechanism, parameter="", value=0.0,
        size=table.k, score=math.nan, low=math.nan, high=math.nan, n=0, p_value=None,
    )  # fmt: skip
    return Stop(setting, risk, useful, table.risk(), "")
