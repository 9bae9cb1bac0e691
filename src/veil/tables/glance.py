"""What a picture shows of a release: sizes of classes and shares of bins, and never a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.measures.bins import Bins
from veil.tables.measures.distance import shares
from veil.tables.measures.loss import loss_of
from veil.tables.measures.pair import Pair
from veil.tables.table import Table, row_classes

EDGES = (1, 2, 3, 5, 10, 20, 50, 100)  # least sizes of classes that are shown together
SIZES = ("alone", "2", "3–4", "5–9", "10–19", "20–49", "50–99", "100 or more")
MOST = 12  # bins of a column that are drawn; the others are together
_TOLD = ("il1s", "direct", "entropy", "contingency", "correlations", "blanked")


@dataclass(frozen=True, eq=False)
class Glance:
    """A release at a glance.

    Attributes
    ----------
    sizes
        The share of the original records that are in classes of each size (of `SIZES`); what is
        removed is in none.
    columns
        By column (2, bins): the share of each bin before and after.
    figures
        k, classes, uniques, removed, and what was lost.
    """

    sizes: Floats
    columns: Mapping[str, Floats]
    figures: Mapping[str, float] = field(default_factory=dict)

    def arrays(self) -> dict[str, Floats]:
        """Return what is kept of it in a study."""
        return {"sizes": self.sizes} | {
            f"column {number}": table for number, table in enumerate(self.columns.values())
        }

    def data(self) -> dict[str, Any]:
        """Return what else is kept of it: names of columns, and figures."""
        return {"columns": list(self.columns), "figures": dict(self.figures)}

    @classmethod
    def of(cls, arrays: Mapping[str, Any], data: Mapping[str, Any]) -> "Glance":
        """Return one that was kept."""
        columns = {name: arrays[f"column {number}"] for number, name in enumerate(data["columns"])}
        return cls(arrays["sizes"], columns, data["figures"])


def glance(pair: Pair, *, lost: bool = True) -> Glance:
    """Look at a release; `lost` says whether to measure what it lost."""
    classes = class_sizes(pair.released, pair.original.qi)
    whole = max(len(pair.original), len(pair.released))
    each = np.repeat(classes, classes)
    figures = {
        "k": float(classes.min(initial=len(pair.released))),
        "classes": float(len(classes)),
        "uniques": float((classes == 1).sum()),
        "removed": pair.share_removed,
    }
    if lost:
        found = loss_of(pair, pair.concerned).overall
        figures |= {name: found[name] for name in _TOLD if name in found}
    columns = {name: _folded(pair, name) for name in pair.columns}
    return Glance(by_size(each) / whole, columns, figures)


def class_sizes(table: Table, qi: tuple[str, ...]) -> Ids:
    """Return the size of each class of rows that are alike in what an attacker knows."""
    known = [table.column(name).codes for name in qi if name in table]
    found: Ids = np.bincount(row_classes(known, len(table)))
    return found


def by_size(sizes: Ids) -> Floats:
    """Count records by the size of their class: (len(SIZES),)."""
    at = np.searchsorted(EDGES, sizes, side="right") - 1
    return np.bincount(at, minlength=len(SIZES)).astype(np.float64)


def _folded(pair: Pair, name: str) -> Floats:
    """Return the shares of the bins of a column before and after, the smallest ones together."""
    bins = pair.bins(name)
    before = np.bincount(bins.codes, minlength=bins.size) / len(bins.codes)
    both = np.stack([before, shares(bins, pair.placed(name), pair.removed)])
    return both[:, _order(bins, before)] if bins.size <= MOST else _most(bins, both)


def _order(bins: Bins, before: Floats) -> Ids:
    """Return numbers by size and categories by share; what is missing or new at the end."""
    named = np.arange(bins.named)
    if not bins.column.numeric:
        named = np.argsort(-before[: bins.named], kind="stable")
    return np.concatenate([named, [bins.gap, bins.outside]])


def _most(bins: Bins, both: Floats) -> Floats:
    order = _order(bins, both[0])
    first, rest = order[: MOST - 1], order[MOST - 1 :]
    if bins.cuts is not None:  # deciles, what is missing and what is new are few
        return both[:, order]
    return np.concatenate([both[:, first], both[:, rest].sum(axis=1, keepdims=True)], axis=1)
