"""Attack on cells, by an attacker who knows how they were protected."""

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
    """Infer the interval of every sensitive cell from all published numbers.

    The risk of a cell v is 1 - min(1, width / required), where required is the width of
    [max(0, v - protection), v + protection]. The risk of the table is the mean over its sensitive
    cells.
    """

    name: ClassVar[str] = "intervals"
    threshold: int | None = Field(
        default=None,
        ge=1,
        description="counts below it are sensitive; by default that of the mechanism, or 5",
    )
    protection: float | None = Field(
        default=None,
        gt=0,
        description="protection of a sensitive cell; by default that of the mechanism or rule",
    )
    rule: str = Field(default="", description="rule for sums, instead of a threshold")

    def sensitive(self, cells: Cells, release: CellRelease) -> Sensitive:
        """Return the sensitive cells of the original, and the protection that each needs."""
        parameters = {} if self.threshold else _parameters(release)
        threshold, rule = self.threshold, self.rule
        if threshold is None and not rule:
            rule, declared = str(parameters.get("rule") or ""), parameters.get("threshold")
            threshold = None if declared is None else int(str(declared))
        own = self.protection or parameters.get("protection")
        return judge(cells, threshold, None if own is None else float(str(own)), rule)

    def run(self, cells: Cells, release: CellRelease) -> Outcome:
        """Audit the release, and compare with the protection that cells need."""
        sensitive = self.sensitive(cells, release)
        audited = audit(release)
        inferred = _infer(cells, release, audited)
        full, need = cells.margins, sensitive.protection
        required = full + need - np.maximum(0.0, full - need)
        judged = sensitive.cells & inferred.judged
        width = (inferred.high - inferred.low)[judged]
        risks = 1.0 - np.minimum(1.0, width / required[judged])
        details = _details(risks, width, inferred.low[judged], audited) | _candidates(
            release, audited
        )
        if cells.contributions is not None and not release.maps:
            risks, more = _by_contributors(cells, release, sensitive, risks)
            details |= {"worst": float(risks.max(initial=0.0)), **more}
        risk = float(risks.mean()) if len(risks) else 0.0
        estimate = Estimate(risk, risk, risk, len(risks))  # no randomness
        return Outcome(unit="cell", per_record=risks, estimate=estimate, details=details)


_PUSHES = 2_000  # linear programs to solve before skipping contributors


def _by_contributors(
    cells: Cells, release: CellRelease, sensitive: Sensitive, risks: Floats
) -> tuple[Floats, dict[str, object]]:
    """Return the risks of sensitive cells from the worst contributor, and details.

    A contributor knows its own amounts, and the cells to which nobody else contributed.
    """
    table = Flows(cells, sensitive, zeros=True)
    hidden = release.suppressed.ravel()
    if not hidden.any():
        return risks, {}
    free, places = np.flatnonzero(hidden), np.flatnonzero(sensitive.cells)
    needs, worst = sensitive.protection.ravel() / table.unit, risks.copy()
    exact, tried, spared = np.zeros(len(places), dtype=np.bool_), 0, 0
    remaining = _PUSHES
    for knowledge in contributors(table, Holdings(cells), hidden):
        targets = [
            i for i, place in enumerate(places) if hidden[place] and not knowledge.only[place]
        ]
        if remaining < 2 * len(targets):
            spared += 1
            continue
        tried, remaining = tried + 1, remaining - 2 * len(targets)
        reach = table.reach(hidden, knowledge)
        for i in targets:
            place, at = places[i], int(np.searchsorted(free, places[i]))
            value, need = table.values[place], needs[place]
            reach_down = min(need, value - knowledge.own[place])
            ends = [
                reach.push(at, most, up=up)[at] for up, most in ((True, need), (False, reach_down))
            ]
            width, wide = ends[0] - ends[1], need + reach_down
            worst[i] = max(worst[i], 1.0 - min(1.0, width / wide) if wide > SLACK else 0.0)
            exact[i] |= width <= SLACK * max(1.0, value)
    counts = {"contributors": tried, "contributors_not_tried": spared}
    return worst, {**counts, "exact_to_contributors": int(exact.sum())}


def attack_cells(
    cells: Cells, release: CellRelease, attacker: "str | Intervals" = "intervals"
) -> Outcome:
    """Attack a release of cells; the only attack is ``intervals``."""
    if isinstance(attacker, Intervals):
        return attacker.run(cells, release)
    if not isinstance(attacker, str):
        raise ParameterError("The only attack on cells is intervals.")
    name, parameters = read_spec(attacker)
    if name != Intervals.name:
        raise unknown_name("attacker of cells", name, (Intervals.name,))
    return Intervals.load(parameters).run(cells, release)


class _Inferred(NamedTuple):
    """For the full original table: the inferred bounds, and which cells they apply to."""

    low: Floats
    high: Floats
    judged: Mask


def _infer(cells: Cells, release: CellRelease, audited: Audit) -> _Inferred:
    if not release.maps:
        if release.margins.shape != cells.margins.shape:
            raise InputError("The release and the table do not match: they have different cells.")
        return _Inferred(audited.low, audited.high, np.ones(audited.low.shape, dtype=np.bool_))
    nodes, sizes, judged = zip(
        *(_node_map(cells, release, at) for at in range(len(cells.axes))), strict=True
    )
    place = np.ix_(*nodes)
    single = _outer(sizes) == 1
    low = np.where(single, audited.low[place], 0.0)
    return _Inferred(low, audited.high[place], _outer(judged) == 1)


def _node_map(cells: Cells, release: CellRelease, at: int) -> tuple[Ids, Ids, Ids]:
    """Return, per node of an axis, its node in the release, how many share it, if it exists."""
    axis, other, place = cells.axes[at], release.axes[at], release.maps[at]
    if len(place) != len(axis.categories) or int(place.max()) >= len(other.categories):
        raise InputError("The release and the table do not match: they have different categories.")
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


def _parameters(release: CellRelease) -> dict[str, object]:
    try:
        _, parameters = CELL_MECHANISMS.read(release.method.rpartition(" | ")[2])
    except (ParameterError, LookupError):
        return {}
    return parameters


def _details(risks: Floats, width: Floats, low: Floats, audited: Audit) -> dict[str, object]:
    unit = grain(audited.high, whole=audited.whole)
    return {
        "cells": len(risks),
        "exact": int((width <= SLACK * np.maximum(unit, low)).sum()),
        "narrow": int((risks > SLACK).sum()),
        "worst": float(risks.max(initial=0.0)),
        "caveat": audited.caveat,
    }


def _candidates(release: CellRelease, audited: Audit) -> dict[str, object]:
    base = _parameters(release).get("base")
    if base is None or not release.whole:
        return {}
    inner = tuple(slice(len(axis.categories)) for axis in release.axes)
    fewer = audited.width[inner] + 1 < float(str(base))
    return {"fewer_than_base": float(fewer.mean())}
