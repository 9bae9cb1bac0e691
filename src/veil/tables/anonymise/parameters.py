"""What all methods ask of the classes that they make, and what that proves."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.tables.criteria.asked import Asked, Distance, Diversity
from veil.tables.method import UNIT, Kind, Method, nothing
from veil.tables.table import Table

_ANYBODY = (
    "Nothing is said against who knows more than the quasi-identifiers, other columns are as they"
    " were, and it does not compose."
)
_VALUES = "Nothing is said of confidential values: those of a class may all be the same."
_SUBSET = (
    "Classes are alike in the masked columns alone: other quasi-identifiers may tell their rows"
    " apart."
)


class Anonymiser(Method):
    """Makes classes of rows that look alike, each of which satisfies what is asked."""

    family: ClassVar[str] = "k-anonymity"
    needs: ClassVar[frozenset[str]] = frozenset({"qi"})
    kind: ClassVar[Kind] = "any"
    random: ClassVar[bool] = False

    k: Annotated[
        int,
        Field(
            ge=1,
            description="rows that look alike; at least 2, or 1 with l or t",
            examples=[10],
            json_schema_extra=PRIVATE,
        ),
    ]
    l: Annotated[  # noqa: E741 - the letter of the literature
        int | float | None,
        Field(ge=1, description="confidential values in a class", json_schema_extra=PRIVATE),
    ] = None
    diversity: Annotated[Diversity, Field(description="how values count for l")] = "distinct"
    c: Annotated[
        float, Field(gt=0, description="of recursive diversity: r1 < c (r_l + ... + r_m)")
    ] = 4.0
    t: Annotated[
        float | None,
        Field(ge=0, le=1, description="distance of a class's confidential values from all"),
    ] = None
    distance: Annotated[Distance, Field(description="between values, for t")] = "equal"

    def __init__(self, **parameters: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(**parameters)
        if self.k < 2 and self.l is None and self.t is None:
            raise ParameterError(
                f"The 'k' parameter of {self.name} must be a whole number >= 2, unless l or t is"
                f" asked for. Got {self.k} instead."
            )
        if self.l is not None and self.diversity != "entropy" and self.l != int(self.l):
            raise ParameterError(
                f"The 'l' parameter of {self.name} must be a whole number for {self.diversity}"
                f" diversity. Got {self.l:g} instead."
            )

    @property
    def asked(self) -> Asked:
        """What every class must satisfy."""
        return Asked(self.k, self.l, self.diversity, self.c, self.t, self.distance)

    @property
    def guarantee(self) -> Guarantee:
        """k-anonymity, and what is asked of confidential values."""
        extra = []
        if self.l is not None:
            kind = f"({self.c:g}, {self.l:g})" if self.diversity == "recursive" else f"{self.l:g}"
            extra.append(f"{self.diversity} {kind}-diversity")
        if self.t is not None:
            extra.append(f"{self.t:g}-closeness, {self.distance} distance")
        told = f"In each confidential column also {' and '.join(extra)}." if extra else _VALUES
        numbers = {} if self.t is None else {"t": self.t}
        if self.l is not None:
            numbers["l"] = float(self.l)
        if self.k >= 2:
            made = Guarantee("k-anonymity", unit=UNIT, k=self.k, **numbers)  # type: ignore[arg-type]
        elif self.l is not None:
            made = Guarantee("l-diversity", unit=UNIT, **numbers)  # type: ignore[arg-type]
        else:
            made = Guarantee("t-closeness", unit=UNIT, **numbers)  # type: ignore[arg-type]
        return made.with_caveat(told).with_caveat(_ANYBODY)

    def proved(self, table: Table, columns: Sequence[str]) -> Guarantee:
        """Return what is proved when these columns are masked; nothing if a known one is not."""
        return self.guarantee if set(table.qi) <= set(columns) else nothing(_SUBSET)

    def checked(self, table: Table, records: int | None = None) -> None:
        """Refuse what cannot be done with any table of this size.

        `records` is how many there are, if not one for each row.
        """
        if not len(table):
            raise InputError("The table has no rows.")
        n = len(table) if records is None else records
        if self.k > n:
            raise InputError(f"The table has {n:,} rows, fewer than k = {self.k:,}; lower k.")
