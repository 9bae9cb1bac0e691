"""How messages call rows: by their numbers, from 1, and never by a coordinate."""

from collections.abc import Sequence

from veil.core.types import Ids

_SHOWN = 10


def numbered(rows: Sequence[int] | Ids) -> str:
    """Return the numbers of some rows (counted from 0 here, from 1 in messages).

    >>> numbered([2]), numbered([0, 4])
    ('Row 3', 'Rows 1, 5')
    """
    told = ", ".join(f"{int(row) + 1:,}" for row in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return f"{'Row' if len(rows) == 1 else 'Rows'} {told}{more}"
