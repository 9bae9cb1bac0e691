"""The values of a column and how often they occur, before and after."""

from itertools import pairwise

import numpy as np

from veil.core.types import Floats, Ids
from veil.studies.report.markup import Markup
from veil.tables.column import written
from veil.tables.measures.pair import Bins, Pair
from veil.tables.measures.pair import shares as released_shares
from veil.web.drawings.bars import bars, twins

_MOST = 10  # values that have a row of their own


def shares(pair: Pair, name: str) -> Markup:
    """Draw the shares of a column's values; more than ten numbers are cut at their deciles.

    A label of the release, as an interval, is spread evenly over the values that it stands for.
    """
    bins = pair.bins(name)
    before = np.bincount(bins.codes, minlength=bins.size) / max(1, len(bins.codes))
    after = released_shares(bins, pair.placed(name), pair.removed)
    labels, rows = _rows(bins, before)
    rest = np.setdiff1d(np.arange(bins.size), rows)
    kept = [before[rows], after[rows]]
    for what, places in (
        ("missing", [bins.gap]),
        ("new values", [bins.outside]),
        ("all others", np.setdiff1d(rest, [bins.gap, bins.outside])),
    ):
        more = [float(one[places].sum()) for one in (before, after)]
        if sum(more) > 0:
            labels.append(what)
            kept = [np.append(one, extra) for one, extra in zip(kept, more, strict=True)]
    return bars(
        name,
        f"Shares of the values of the column {name} in the original and in the release.",
        twins(labels, kept[0], kept[1]),
    )


def _rows(bins: Bins, before: Floats) -> tuple[list[str], Ids]:
    """Return the labels that are drawn, and their bins."""
    if bins.cuts is not None:
        return _ranges(bins.cuts), np.arange(bins.named)
    order = np.arange(bins.named)
    if bins.named > _MOST or not bins.column.numeric:
        order = np.argsort(-before[: bins.named], kind="stable")[:_MOST]
    if bins.column.numeric:
        order = np.sort(order)
    return [bins.column.categories[place] for place in order.tolist()], order


def _ranges(cuts: Floats) -> list[str]:
    texts = [_short(cut) for cut in cuts.tolist()]
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *middle, f"{texts[-1]} and more"]


def _short(number: float) -> str:
    return written(float(f"{number:.4g}"))
