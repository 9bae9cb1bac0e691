"""An attacker who knows how a table of cells was protected."""

from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.registry import read_spec, unknown_name
from veil.core.types import Floats, Ids
from veil.tables.attacks.scene import Attack
from veil.tables.cells.audit import Audit, audit
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import CELL_METHODS, CellRelease, Mask
from veil.tables.cells.rules import RULES, Sensitive, Threshold
from veil.tables.cells.solver import SLACK, grain


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
        told = _told(release)
        rule = self.rule or ("" if self.threshold else str(told.get("rule") or ""))
        threshold = self.threshold or told.get("threshold") or 5
        judge = RULES.parse(rule) if rule else Threshold(threshold=int(str(threshold)))
        wanted = judge.sensitive(cells)
        own = self.protection or (told.get("protection") if not self.threshold else None)
        if own is None:
            return wanted
        return Sensitive(wanted.cells, np.where(wanted.cells, float(str(own)), 0.0))

    def attack(self, cells: Cells, release: CellRelease) -> Attack:
        """Audit the release, and compare with what the cells need."""
        wanted = self.sensitive(cells, release)
        found = audit(release)
        seen = _seen(cells, release, found)
        full, need = cells.margins, wanted.protection
        required = full + need - np.maximum(0.0, full - need)
        held = wanted.cells & seen.judged
        width = (seen.high - seen.low)[held]
        risks = 1.0 - np.minimum(1.0, width / required[held])
        risk = float(risks.mean()) if len(risks) else 0.0
        return Attack(
            risk,
            risks,
            low=risk,
            high=risk,
            details=_details(risks, width, seen.low[held], found) | _candidates(release, found),
        )


def attack_cells(
    cells: Cells, release: CellRelease, attacker: "str | Intervals" = "intervals"
) -> Attack:
    """Attack a published table of cells; the one attacker is ``intervals``."""
    if isinstance(attacker, Intervals):
        return attacker.attack(cells, release)
    if not isinstance(attacker, str):
        raise ParameterError("A table of cells is attacked by intervals.")
    name, parameters = read_spec(attacker)
    if name != Intervals.name:
        raise unknown_name("attacker of cells", name, (Intervals.name,))
    return Intervals.load(parameters).attack(cells, release)


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
        _, parameters = CELL_METHODS.read(release.method.rpartition(" | ")[2])
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
