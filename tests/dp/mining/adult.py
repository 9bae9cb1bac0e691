"""The persons of `adult` as features: ten columns with public bounds and values."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veil.core.types import Floats, Ids
from veil.data.rows import read_table
from veil.dp.mining.classifier import indicators
from veil.dp.mining.columns import Column

COLUMNS = [
    Column.parse("age:15:95:16"),
    Column("type_employer"),
    Column("education"),
    Column("marital"),
    Column("occupation"),
    Column("relationship"),
    Column("sex"),
    Column.parse("hr_per_week:0:100:10"),
    Column.parse("capital_gain:0:20000:20"),
    Column.parse("capital_loss:0:4000:20"),
]
SIZES = [column.size for column in COLUMNS]
LEARNT = 20_000


@dataclass(frozen=True)
class Adult:
    """Codes (n, 10), the same as 0 and 1, and whether the income is above 50K."""

    codes: Ids
    x: Floats
    y: Ids

    def split(self, seed: int) -> tuple[Ids, Ids]:
        """Return rows to learn from, and rows to test with."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        return order[:LEARNT], order[LEARNT:]


def adult(path: Path) -> Adult:
    """Read the file."""
    _, rows = read_table(path, [*(column.name for column in COLUMNS), "income"])
    fields = list(zip(*(row.values for row in rows), strict=True))
    pairs = zip(COLUMNS, fields, strict=False)
    codes = np.stack([column.codes(field) for column, field in pairs], axis=1)
    y = np.array([label == ">50K" for label in fields[-1]]).astype(np.int64)
    return Adult(codes, indicators(codes, SIZES), y)
