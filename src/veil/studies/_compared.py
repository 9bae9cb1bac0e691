"""Whether a configuration finds more, or less, than search without protection."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from veil.core.types import Floats
from veil.measures.paired import p_values
from veil.studies._curves import PLAIN, is_utility
from veil.studies.table import Row


def compared(rows: Sequence[Row], samples: Mapping[Row, Floats]) -> tuple[Row, ...]:
    """Give each nDCG@10 its p-value against plain search by the same engine, where that is known.

    The test is paired: the same queries, by a random choice of signs of their differences.
    """
    found: dict[Row, float] = {}
    for plain in rows:
        if plain.mechanism == PLAIN and is_utility(plain):
            place = (plain.collection, plain.engine)
            others = [
                row
                for row in filter(is_utility, rows)
                if row.mechanism != PLAIN and (row.collection, row.engine) == place
            ]
            found |= _against(samples[plain], others, samples)
    return tuple(replace(row, p_value=found[row]) if row in found else row for row in rows)


def _against(
    plain: Floats, others: Sequence[Row], samples: Mapping[Row, Floats]
) -> dict[Row, float]:
    gaps = {row: samples[row] - plain for row in others}
    known = {row: gap for row, gap in gaps.items() if np.isfinite(gap).any()}
    if not known:
        return {}
    values = p_values(np.stack(list(known.values())))
    return dict(zip(known, values.tolist(), strict=True))
