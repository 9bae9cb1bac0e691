"""What leaves: a masked table, and what is proved of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.tables.table import Table


@dataclass(frozen=True, eq=False)
class Release:
    """A masked table.

    Attributes
    ----------
    table
        What is released; it has no identifier.
    method
        Specs of what made it, in order.
    guarantee
        What is proved of it.
    seeded
        Whether who knows the seed can repeat the draws: **not private**.
    levels
        By column the level of its hierarchy, for methods that generalise whole columns.
    suppressed
        How many rows were removed.
    rows
        Which row of the original each released row is, for measuring; None for synthetic data.
        Never written to a file.
    groups
        A label for each released row, of methods that make groups, or None.
    kept
        What else a method must remember to be inverted or attacked, by name; public.
    """

    table: Table
    method: str
    guarantee: Guarantee
    seeded: bool = False
    levels: Mapping[str, int] = field(default_factory=dict)
    suppressed: int = 0
    rows: Ids | None = None
    groups: Ids | None = None
    kept: Mapping[str, object] = field(default_factory=dict)

    @property
    def mechanism(self) -> str:
        """Spec of what made it, as releases of all kinds have it."""
        return self.method

    @property
    def cost(self) -> Guarantee:
        """What is proved of it, as releases of all kinds have it."""
        return self.guarantee

    def __len__(self) -> int:
        return len(self.table)
