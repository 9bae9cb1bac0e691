"""k, l and t of a release: class sizes, and confidential values in classes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Ids
from veil.tables.column import Column
from veil.tables.criteria import (
    alike_codes,
    category_codes,
    count_distinct,
    effective,
    least_c,
    levels_of,
    order_of,
    shares,
    spread,
    variation,
)
from veil.tables.criteria import hierarchical_distance as moved_in_hierarchy
from veil.tables.criteria import ordered_distance as moved_in_order
from veil.tables.labels import Matching
from veil.tables.mechanism import Release
from veil.tables.table import Table

Missing = Literal["equal", "any"]


@dataclass(frozen=True)
class Anonymity:
    """The anonymity of a release; None if a figure does not apply.

    Attributes
    ----------
    k
        Size of the smallest class.
    classes, average
        Number of classes, and their mean size.
    uniques
        Number of rows that are alone in their class.
    l, entropy_l
        Smallest number of confidential values of a class, and smallest exponential of their
        entropy. Strings that differ only in case, blanks or the spelling of a number are one
        value.
    c
        Recursive (c, l)-diversity holds for every larger c; infinite if there is none.
    t_equal, t_ordered, t_hierarchical
        Largest distance of a class's confidential values from those of all released rows.
    """

    k: int
    classes: int | None
    average: float | None
    uniques: int
    l: int | None = None  # noqa: E741 - the letter of the literature
    entropy_l: float | None = None
    c: float | None = None
    t_equal: float | None = None
    t_ordered: float | None = None
    t_hierarchical: float | None = None


def anonymity(
    release: Release | Table,
    confidential: str | Sequence[str] | None = None,
    l: int = 3,  # noqa: E741 - the letter of the literature
    missing: Missing = "equal",
    *,
    original: Table | None = None,
) -> Anonymity:
    """Return k, l, c and t of a release in its quasi-identifiers.

    Parameters
    ----------
    release
        The release, or a table.
    confidential
        Columns that an attacker must not learn; by default those declared. Of several, the worst
        figure counts.
    l
        The l for which the smallest c is computed.
    missing
        Whether a missing quasi-identifier is a value like others ("equal"), or matches every value
        ("any"), which gives only k and uniques, because rows are then in several classes.
    original
        Table that t compares with, instead of the release. The t that a mechanism claims refers to
        the release, without suppressed rows.
    """
    if not isinstance(release, Release | Table):
        raise InputError("anonymity needs a release, or a table.")
    table = release.table if isinstance(release, Release) else release
    table.require_qi()
    if l < 1:
        raise ParameterError(
            f"The 'l' of recursive diversity must be at least 1. Got {l} instead."
        )
    if not len(table):
        raise InputError("The release has no rows.")
    if missing == "any":
        codes = np.stack([table.column(name).codes for name in table.qi], axis=1)
        match = Matching(codes).counts()
        return Anonymity(int(match.min()), None, None, int((match < 2).sum()))
    return anonymity_of(table, _columns(table, confidential), l, original or table)


def anonymity_of(
    table: Table,
    names: Sequence[str],
    l: int,  # noqa: E741
    whole: Table,
    counts: Ids | None = None,
) -> Anonymity:
    """Return the anonymity if rows stand for several records, `counts` (n,)."""
    sizes = np.bincount(table.classes, counts).astype(np.int64)
    base = Anonymity(
        int(sizes.min()), len(sizes), float(sizes.sum() / len(sizes)), int((sizes == 1).sum())
    )
    figures = [_figures(table, name, len(sizes), l, whole, counts) for name in names]
    return _worst(base, figures)


def _columns(table: Table, confidential: str | Sequence[str] | None) -> tuple[str, ...]:
    if confidential is None:
        return table.confidential
    return (confidential,) if isinstance(confidential, str) else tuple(confidential)


def _figures(
    table: Table,
    name: str,
    classes: int,
    l: int,  # noqa: E741
    whole: Table,
    counts: Ids | None,
) -> dict[str, float]:
    column = table.column(name)
    value, values = category_codes(column)
    share = shares(column, counts)
    if whole is not table:
        column = _concatenated(whole.column(name), column)
        value, values = category_codes(column)
        share = np.bincount(value[: len(whole)], minlength=values + 1) / len(whole)
        value = value[len(whole) :]
    counted = spread(table.classes, value, values, classes, counts)
    values_of = counted.counted(alike_codes(column))
    figures = {
        "l": int(count_distinct(values_of).min()),
        "entropy_l": float(effective(values_of).min()),
        "c": least_c(values_of, l),
        "t_equal": float(variation(counted, share).max()),
    }
    hierarchy = whole.hierarchies.get(name)
    if hierarchy is not None and not set(column.categories) <= set(hierarchy.place):
        hierarchy = None
    order = order_of(column, hierarchy)
    if order is not None and not column.missing.any():
        figures["t_ordered"] = float(moved_in_order(counted, share, order).max())
    if hierarchy is not None:
        levels = levels_of(column, hierarchy)
        figures["t_hierarchical"] = float(moved_in_hierarchy(counted, share, levels).max())
    return figures


def _concatenated(whole: Column, column: Column) -> Column:
    if whole.numeric and column.numeric:
        return Column(np.concatenate([whole.values, column.values]))
    return Column(np.concatenate([whole.texts, column.texts]))


def _worst(base: Anonymity, figures: Sequence[dict[str, float]]) -> Anonymity:
    """Return `base` with the worst figures over all columns; None if one does not apply to all."""
    common = set.intersection(*(set(column) for column in figures)) if figures else set()
    worst: dict[str, Any] = {
        name: (min if name in ("l", "entropy_l") else max)(column[name] for column in figures)
        for name in common
    }
    return replace(base, **worst)
