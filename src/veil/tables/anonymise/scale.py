"""Where the values of a column stand, so that they have a width and a median."""

from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Scale:
    """The order of a column's values.

    Numbers stand by their size; others as their hierarchy lists them, else by letter. A missing
    value stands behind the last, one step away.

    Attributes
    ----------
    ranks
        Of each row (n,).
    places
        Where each rank stands.
    range
        From the first to the last that is not missing; 1 if they are the same.
    """

    ranks: Ids
    places: Floats
    range: float

    @classmethod
    def of(cls, column: Column, hierarchy: Hierarchy | None, name: str) -> "Scale":
        """Read the order of a column."""
        count = column.different
        if column.numeric:
            if not np.isfinite(column.numbers).all():
                raise InputError(
                    f"The column '{name}' has infinite numbers; remove them or leave them out."
                )
            category, places = np.arange(count), column.numbers.astype(np.float64)
        elif hierarchy is not None:
            leaves = hierarchy.at(column)
            category = np.argsort(leaves)
            places = leaves[category].astype(np.float64)
        else:
            category, places = np.arange(count), np.arange(count, dtype=np.float64)
        rank = np.empty(count + 1, dtype=np.int64)
        rank[category] = np.arange(count)
        rank[-1] = count  # of the code of a missing value, -1
        width = float(places[-1] - places[0]) if count > 1 else 1.0
        if column.missing.any():
            behind = places[-1] + width / max(1, count - 1) if count else 0.0
            places = np.append(places, behind)
        return cls(rank[column.codes], places, width)
