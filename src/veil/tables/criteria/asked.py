"""From what a user asks for to criteria on the classes of a table."""

from dataclasses import dataclass
from typing import Literal

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.criteria.classes import shares
from veil.tables.criteria.criterion import Criterion
from veil.tables.criteria.distinct import Distinct
from veil.tables.criteria.entropy import Entropy
from veil.tables.criteria.equal import Equal
from veil.tables.criteria.hierarchical import Hierarchical, levels_of
from veil.tables.criteria.ordered import Ordered, order_of
from veil.tables.criteria.recursive import Recursive
from veil.tables.criteria.size import Size
from veil.tables.table import Table

Diversity = Literal["distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True)
class Asked:
    """k, and if they are asked l with its kind of diversity and t with its distance."""

    k: int
    l: float | None = None  # noqa: E741 - the letter of the literature
    diversity: Diversity = "distinct"
    c: float = 4.0
    t: float | None = None
    distance: Distance = "equal"

    def columns(self, table: Table) -> tuple[str, ...]:
        """Return the confidential columns that it speaks of, or say that there are none."""
        if self.l is None and self.t is None:
            return ()
        if not table.confidential:
            raise InputError(
                "l and t speak of confidential values; name those columns, by confidential=[...]"
                " or --confidential."
            )
        return table.confidential

    def criteria(self, table: Table, counts: Ids | None = None) -> tuple[Criterion, ...]:
        """Return the criteria, the cheapest first; shares are those of this table.

        `counts` says of how many records each row is (n,).
        """
        made: list[Criterion] = [Size(self.k)]
        for number, name in enumerate(self.columns(table)):
            if self.l is not None:
                made.append(self._diverse(self.l, number))
            if self.t is not None:
                whole = shares(table.column(name), counts)
                made.append(self._close(self.t, number, name, table, whole))
        return tuple(made)

    def _diverse(self, l: float, number: int) -> Criterion:  # noqa: E741
        if self.diversity == "entropy":
            return Entropy(l, number)
        if self.diversity == "recursive":
            return Recursive(l, number, self.c)
        return Distinct(l, number)

    def _close(self, t: float, number: int, name: str, table: Table, whole: Floats) -> Criterion:
        if self.distance == "ordered":
            return Ordered(t, number, whole, _order(table, name))
        if self.distance == "hierarchical":
            return Hierarchical(
                t, number, whole, levels_of(table.column(name), table.hierarchy(name))
            )
        return Equal(t, number, whole)


def _order(table: Table, name: str) -> Ids:
    """Return the place of each category of a column, or say why it has none."""
    column = table.column(name)
    if column.missing.any():
        raise InputError(
            f"The column '{name}' has missing values, which have no place in an order; use the"
            " distance 'equal', or fill them in."
        )
    order = order_of(column, table.hierarchies.get(name))
    if order is None:
        raise InputError(
            f"The values of '{name}' have no order; use the distance 'equal', or give the column a"
            " hierarchy that lists them in order."
        )
    return order
