"""An attacker who knows how a table of cells was protected."""

from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.core.outcome import Outcome
from veil.core.registry import read_spec, unknown_name
from veil.core.types import Floats, Ids
from veil.tables.cells.audit import Audit, audit
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import CELL_MECHANISMS, CellRelease, Mask
from veil.tables.cells.rules import Holdings, Sensitive
from veil.tables.cells.solver import SLACK, Flows, grain
from veil.tables.cells.suppress import contributors, judge


class Intervals(Component):
    """Conclude of every sensitive cell what it can be, from all that is published.

    The risk of a cell v is 1 - min(1, width / required), where required is the width of
    [max(0, v - protection), v + protection]; that of the table is the mean over sensitive cells.
    """

    name: ClassVar[str] = "intervals"
    threshold: int | None = Field(
        default=None,
        ge=1,
        description="below which counts are sensitive; else that of the method, or 5",
    )
    protection: float | None = Field(
        default=None,
        gt=0,
        description="room a sensitive cell needs; else that of the method, or its rule",
    )
    rule: str = Field(default="", description="another rule than a threshold, for sums")

    def sensitive(self, cells: Cells, release: CellRelease) -> Sensitive:
        """Return which cells of the original are sensitive, and the room each needs."""
        told = {} if self.threshold else _told(release)
        threshold, rule = self.threshold, self.rule
        if threshold is None and not rule:
            rule, named = str(told.get("rule") or ""), told.get("threshold")
            threshold = None if named is None else int(str(named))
        own = self.protection or told.get("protection")
        return judge(cells, threshold, None if own is None else float(str(own)), rule)

    def run(self, cells: Cells, release: CellRelease) -> Outcome:
        """Audit the release, and compare with what the cells need."""
        wanted = self.sensitive(cells, release)
        found = audit(release)
        seen = _seen(cells, release, found)
        full, need = cells.margins, wanted.protection
        required = full + need - np.maximum(0.0, full - need)
        held = wanted.cells & seen.judged
        width = (seen.high - seen.low)[held]
        risks = 1.0 - np.minimum(1.0, width / required[held])
        details = _details(risks, width, seen.low[held], found) | _candidates(release, found)
        if cells.contributions is not None and not release.maps:
            risks, more = _by_contributors(cells, release, wanted, risks)
            details |= {"worst": float(risks.max(initial=0.0)), **more}
        risk = float(risks.mean()) if len(risks) else 0.0
        estimate = Estimate(risk, risk, risk, len(risks))  # nothing is drawn
        return Outcome(unit="cell", per_record=risks, estimate=estimate, details=details)


_PUSHES = 2_000  # linear programs after which no more contributors are tried


def _by_contributors(
    cells: Cells, release: CellRelease, wanted: Sensitive, risks: Floats
) -> tuple[Floats, dict[str, object]]:
    """Return the risks of sensitive cells where the worst contributor attacks, and what it learns.

    A contributor knows what it gave, and which cells nobody else gave to; these are its own.
    """
    table = Flows(cells, wanted, zeros=True)
    hidden = release.suppressed.ravel()
    if not hidden.any():
        return risks, {}
    free, places = np.flatnonzero(hidden), np.flatnonzero(wanted.cells)
    needs, worst = wanted.protection.ravel() / table.one, risks.copy()
    exact, tried, spared = np.zeros(len(places), dtype=np.bool_), 0, 0
    left = _PUSHES
    for known in contributors(table, Holdings(cells), hidden):
        asked = [i for i, place in enumerate(places) if hidden[place] and not known.alone[place]]
        if left < 2 * len(asked):
            spared += 1
            continue
        tried, left = tried + 1, left - 2 * len(asked)
        reach = table.reach(hidden, known)
        for i in asked:
            place, at = places[i], int(np.searchsorted(free, places[i]))
            value, need = table.values[place], needs[place]
            room = min(need, value - known.own[place])
            ends = [reach.push(at, most, up=up)[at] for up, most in ((True, need), (False, room))]
            width, wide = ends[0] - ends[1], need + room
            worst[i] = max(worst[i], 1.0 - min(1.0, width / wide) if wide > SLACK else 0.0)
            exact[i] |= width <= SLACK * max(1.0, value)
    counts = {"contributors": tried, "contributors_not_tried": spared}
    return worst, {**counts, "exact_to_contributors": int(exact.sum())}


def attack_cells(
    cells: Cells, release: CellRelease, attacker: "str | Intervals" = "intervals"
) -> Outcome:
    """Attack a published table of cells; the one attacker is ``intervals``."""
    if isinstance(attacker, Intervals):
        return attacker.run(cells, release)
    if not isinstance(attacker, str):
        raise ParameterError("A table of cells is attacked by intervals.")
    name, parameters = read_spec(attacker)
    if name != Intervals.name:
        raise unknown_name("attacker of cells", name, (Intervals.name,))
    return Intervals.load(parameters).run(cells, release)


class _Seen(NamedTuple):
    """Over the full original table: what is concluded, and of which cells it can be."""

    low: Floats
    high: Floats
    judged: Mask


def _seen(cells: Cells, release: CellRelease, found: Audit) -> _Seen:
    """Carry what is concluded of a rolled-up table over to the original's cells."""
    if not release.maps:
        if release.margins.shape != cells.margins.shape:
            raise InputError("The release is not of this table: they have different cells.")
        return _Seen(found.low, found.high, np.ones(found.low.shape, dtype=np.bool_))
    nodes, sizes, judged = zip(
        *(_node_map(cells, release, at) for at in range(len(cells.axes))), strict=True
    )
    place = np.ix_(*nodes)
    alone = _outer(sizes) == 1
    low = np.where(alone, found.low[place], 0.0)
    return _Seen(low, found.high[place], _outer(judged) == 1)


def _node_map(cells: Cells, release: CellRelease, at: int) -> tuple[Ids, Ids, Ids]:
    """Return per node of an axis: its node in the release, how many share it, if it has one."""
    axis, other, place = cells.axes[at], release.axes[at], release.maps[at]
    if len(place) != len(axis.categories) or int(place.max()) >= len(other.categories):
        raise InputError("The release is not of this table: they have different categories.")
    count = len(axis.categories)
    same = len(other.categories) == count
    groups = np.arange(count, axis.nodes - 1) if same else np.zeros(len(axis.groups), np.int64)
    nodes = np.concatenate([place, groups, [other.nodes - 1]])
    sizes = np.ones(axis.nodes, dtype=np.int64)
    sizes[:count] = np.bincount(place)[place]
    judged = np.ones(axis.nodes, dtype=np.int64)
    judged[count:-1] = same and bool(other.groups)
    return nodes, sizes, judged


def _outer(factors: "tuple[Ids, ...]") -> Ids:
    product = np.ones((), dtype=np.int64)
    for factor in factors:
        product = np.multiply.outer(product, factor)
    return product


def _told(release: CellRelease) -> dict[str, object]:
    """Return the parameters of the method that made a release."""
    try:
        _, parameters = CELL_MECHANISMS.read(release.method.rpartition(" | ")[2])
    except (ParameterError, LookupError):
        return {}
    return parameters


def _details(risks: Floats, width: Floats, low: Floats, found: Audit) -> dict[str, object]:
    one = grain(found.high, whole=found.whole)
    return {
        "cells": len(risks),
        "exact": int((width <= SLACK * np.maximum(one, low)).sum()),
        "narrow": int((risks > SLACK).sum()),
        "worst": float(risks.max(initial=0.0)),
        "caveat": found.caveat,
    }


def _candidates(release: CellRelease, found: Audit) -> dict[str, object]:
    """Of rounding: the share of cells for which fewer numbers are left than the base."""
    base = _told(release).get("base")
    if base is None or not release.whole:
        return {}
    inner = tuple(slice(len(axis.categories)) for axis in release.axes)
    fewer = found.width[inner] + 1 < float(str(base))
    return {"fewer_than_base": float(fewer.mean())}
