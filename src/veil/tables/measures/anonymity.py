"""How many rows look alike, and what their class tells of confidential values."""

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
    """How anonymous a release is; None where something does not apply.

    Attributes
    ----------
    k
        Rows of the smallest class.
    classes, average
        How many classes there are, and their mean size.
    uniques
        Rows that are alone in their class.
    l, entropy_l
        Of any class the fewest confidential values, and the least exponential of their entropy.
        Texts that differ in case or blanks alone, or in how they spell a number, are one value.
    c
        Recursive (c, l)-diversity holds for every larger c; infinite if for none.
    t_equal, t_ordered, t_hierarchical
        The largest distance of a class's confidential values from those of all that is released.
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
    """Measure k, l, c and t of a release on its quasi-identifiers.

    Parameters
    ----------
    release
        What is released.
    confidential
        Columns whose values must not be learnt; by default those declared. Of several the worst
        figure is given.
    l
        For which l the least c is given.
    missing
        Whether a missing quasi-identifier is a value like others ("equal"), or matches every value
        ("any"); the second gives k and uniques alone, as rows then are in several classes.
    original
        Another table that t compares with than what is released. The t that a method claims is
        about what is released, which lacks rows that were suppressed.
    """
    if not isinstance(release, Release | Table):
        raise InputError("Anonymity is measured of a release, or of a table.")
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
    return anonymity_of(table, _named(table, confidential), l, original or table)


def anonymity_of(
    table: Table,
    names: Sequence[str],
    l: int,  # noqa: E741
    whole: Table,
    counts: Ids | None = None,
) -> Anonymity:
    """Measure where equal rows may be one: `counts` says of how many records each is (n,)."""
    sizes = np.bincount(table.classes, counts).astype(np.int64)
    made = Anonymity(
        int(sizes.min()), len(sizes), float(sizes.sum() / len(sizes)), int((sizes == 1).sum())
    )
    figures = [_figures(table, name, len(sizes), l, whole, counts) for name in names]
    return _worst(made, figures)


def _named(table: Table, confidential: str | Sequence[str] | None) -> tuple[str, ...]:
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
    """Return the figures of one confidential column that apply."""
    column = table.column(name)
    value, values = category_codes(column)
    share = shares(column, counts)
    if whole is not table:
        column = _both(whole.column(name), column)
        value, values = category_codes(column)
        share = np.bincount(value[: len(whole)], minlength=values + 1) / len(whole)
        value = value[len(whole) :]
    found = spread(table.classes, value, values, classes, counts)
    values_of = found.counted(alike_codes(column))
    made = {
        "l": int(count_distinct(values_of).min()),
        "entropy_l": float(effective(values_of).min()),
        "c": least_c(values_of, l),
        "t_equal": float(variation(found, share).max()),
    }
    hierarchy = whole.hierarchies.get(name)
    if hierarchy is not None and not set(column.categories) <= set(hierarchy.place):
        hierarchy = None
    order = order_of(column, hierarchy)
    if order is not None and not column.missing.any():
        made["t_ordered"] = float(moved_in_order(found, share, order).max())
    if hierarchy is not None:
        levels = levels_of(column, hierarchy)
        made["t_hierarchical"] = float(moved_in_hierarchy(found, share, levels).max())
    return made


def _both(whole: Column, column: Column) -> Column:
    """Return the values of two columns after each other, so that they have common categories."""
    if whole.numeric and column.numeric:
        return Column(np.concatenate([whole.values, column.values]))
    return Column(np.concatenate([whole.texts, column.texts]))


def _worst(made: Anonymity, figures: Sequence[dict[str, float]]) -> Anonymity:
    """Add of each figure the worst of all columns; None where it does not apply to one."""
    common = set.intersection(*(set(one) for one in figures)) if figures else set()
    worst: dict[str, Any] = {
        name: (min if name in ("l", "entropy_l") else max)(one[name] for one in figures)
        for name in common
    }
    return replace(made, **worst)
