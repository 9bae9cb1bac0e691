"""k-anonymity, l-diversity and t-closeness of classes of rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.tables.column import Column, alike
from veil.tables.hierarchy import Hierarchy
from veil.tables.mechanism import UNIT, Kind, Mechanism, nothing
from veil.tables.table import Table

Bools = NDArray[np.bool_]
Alike = tuple[Ids, int] | None  # see `alike_codes`
_ROOM = 4  # cells of a dense table of counts per entry, beyond which keys are sorted


@dataclass(frozen=True, eq=False)
class Spread:
    """The number of times that each value of a confidential column occurs in each class.

    Attributes
    ----------
    owner
        Class of each entry (entries,), ascending; an entry is a value that occurs in a class.
    value
        Category of each entry (entries,); `values` stands for a missing value.
    count
        Number of rows of each entry (entries,).
    values, classes
        Number of categories and of classes.
    """

    owner: Ids
    value: Ids
    count: Ids
    values: int
    classes: int

    @property
    def present(self) -> "Spread":
        """The counts without missing values."""
        present = self.value < self.values
        if present.all():
            return self
        return replace(
            self, owner=self.owner[present], value=self.value[present], count=self.count[present]
        )

    @property
    def sizes(self) -> Floats:
        """Number of rows of each class (classes,)."""
        return self.sums(self.count)

    def sums(self, amounts: Ids | Floats) -> Floats:
        """Return the sums of amounts (entries,) by class (classes,)."""
        totals = np.bincount(self.owner, amounts, minlength=self.classes)
        return np.asarray(totals, dtype=np.float64)

    @property
    def shares(self) -> Floats:
        """Share of each entry in its class (entries,)."""
        return self.count / self.sizes[self.owner]

    def relabelled(self, labels: Ids, values: int) -> "Spread":
        """Return the counts with new labels for the categories; several may share one."""
        lookup = np.append(labels, values)  # missing values stay missing
        if len(np.unique(lookup)) == len(lookup):
            return replace(self, value=lookup[self.value], values=values)
        return spread(self.owner, lookup[self.value], values, self.classes, self.count)

    def counted(self, alike: tuple[Ids, int] | None) -> "Spread":
        """Return the counts with values merged as for l; see `alike_codes`."""
        return self if alike is None else self.relabelled(*alike)

    def of_classes(self, selected: "Bools") -> "Spread":
        """Return the counts of the selected classes (classes,)."""
        number = np.cumsum(selected) - 1
        inside = selected[self.owner]
        return replace(
            self,
            owner=number[self.owner[inside]],
            value=self.value[inside],
            count=self.count[inside],
            classes=int(selected.sum()),
        )

    @property
    def whole(self) -> Floats:
        """The share of each value in all classes together (values + 1,)."""
        counts = np.bincount(self.value, self.count, minlength=self.values + 1)
        return np.asarray(counts / max(1, int(self.count.sum())), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Classes:
    """Sizes of classes (m,), and the counts of confidential values in them, per column."""

    sizes: Ids
    spreads: tuple[Spread, ...] = ()

    def select(self, selected: "Bools") -> "Classes":
        """Return the selected classes (m,)."""
        return Classes(
            self.sizes[selected], tuple(spread.of_classes(selected) for spread in self.spreads)
        )


def spread(owner: Ids, value: Ids, values: int, classes: int, count: Ids | None = None) -> Spread:
    """Count the values (n,) of rows per class (n,); `values` stands for a missing value."""
    width = values + 1
    key = owner * width + value
    if classes * width <= _ROOM * len(key) + 1024:
        dense = np.bincount(key, count, minlength=classes * width)
        keys = np.flatnonzero(dense)
        counts = dense[keys].astype(np.int64)
    else:
        keys, at = np.unique(key, return_inverse=True)
        counts = np.bincount(at, count).astype(np.int64)
    return Spread(keys // width, keys % width, counts, values, classes)


def alike_codes(column: Column) -> tuple[Ids, int] | None:
    """Return the merged code of each category (categories,), and their number; None if all differ.

    Strings that differ only in case, blanks or the spelling of a number are merged, because they
    mean the same to a reader.
    """
    if column.numeric:
        return None
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(alike(label), len(numbers)) for label in column.categories]
    if len(numbers) == len(codes):
        return None
    return np.array(codes, dtype=np.int64), len(numbers)


def category_codes(column: Column) -> tuple[Ids, int]:
    """Return the category of each row (n,), and their number, which stands for a missing value."""
    values = column.different
    return np.where(column.codes < 0, values, column.codes), values


def shares(column: Column, counts: Ids | None = None) -> Floats:
    """Return the share of each category of a column, followed by that of missing values.

    `counts` is the number of records that each row stands for (n,).
    """
    value, values = category_codes(column)
    total = len(column) if counts is None else int(counts.sum())
    return np.bincount(value, counts, minlength=values + 1) / max(1, total)


SLACK = 1e-9  # rounding error of an entropy or a distance


class Criterion(Protocol):
    """Decides which classes pass.

    `lasting` means that a class that passes still passes after rows are added. All criteria here
    hold for the union of two classes if they hold for both. Only lasting ones hold if they hold
    for one of them, which matters when failing classes are suppressed.
    """

    lasting: ClassVar[bool]

    def passes(self, classes: Classes) -> Bools:
        """Return which classes (m,) pass."""
        ...

    def within(self, classes: Classes) -> "Criterion":
        """Return the criterion if only these classes are released."""
        ...


class Local:
    """A criterion on each class separately."""

    def within(self, classes: Classes) -> Self:
        """Return itself: other released classes make no difference."""
        del classes
        return self


def released(criteria: tuple[Criterion, ...], classes: Classes) -> Bools:
    """Return which classes (m,) can be released if all others are suppressed.

    Closeness compares a class with all released rows. So after classes are suppressed, the others
    are compared again, until all that remain pass. A suppressed class stays suppressed.
    """
    remaining = passing(criteria, classes)
    while remaining.any() and not remaining.all():
        rest = classes.select(remaining)
        passed = passing(tuple(criterion.within(rest) for criterion in criteria), rest)
        if passed.all():
            break
        remaining[np.flatnonzero(remaining)[~passed]] = False
    return remaining


def passing(criteria: tuple[Criterion, ...], classes: Classes) -> Bools:
    """Return which classes (m,) pass all criteria."""
    passed = np.ones(len(classes.sizes), dtype=np.bool_)
    for criterion in criteria:
        passed &= criterion.passes(classes)
    return passed


@dataclass(frozen=True)
class Size(Local):
    """A class has at least `k` rows.

    References
    ----------
    Sweeney. k-anonymity: a model for protecting privacy. IJUFKS 10(5), 2002, Definition 3.
    doi:10.1142/S0218488502001648
    """

    k: int
    lasting: ClassVar[bool] = True

    def passes(self, classes: Classes) -> Bools:
        """Return which classes are large enough."""
        return classes.sizes >= self.k


@dataclass(frozen=True, eq=False)
class Distinct(Local):
    """A class has at least `l` distinct values of a confidential column, without missing ones.

    `alike` merges the spellings of a value.

    References
    ----------
    Machanavajjhala et al. l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007, section 4.
    doi:10.1145/1217299.1217302
    """

    l: float  # noqa: E741 - the letter of the literature
    column: int
    alike: Alike = None
    lasting: ClassVar[bool] = True

    def passes(self, classes: Classes) -> Bools:
        """Return which classes have enough values."""
        return count_distinct(classes.spreads[self.column].counted(self.alike)) >= self.l


def count_distinct(spread: Spread) -> Ids:
    """Return the number of distinct values of each class (classes,)."""
    present = spread.present
    return np.bincount(present.owner, minlength=present.classes)


@dataclass(frozen=True, eq=False)
class Entropy(Local):
    r""":math:`e^{H} \ge l`, with H the entropy of the values, without missing ones.

    References
    ----------
    Machanavajjhala et al. l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007, Definition
    4.1. doi:10.1145/1217299.1217302
    """

    l: float  # noqa: E741 - the letter of the literature
    column: int
    alike: Alike = None
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Return which classes are uncertain enough."""
        return effective(classes.spreads[self.column].counted(self.alike)) >= self.l - SLACK


def effective(spread: Spread) -> Floats:
    """Return exp(entropy) of each class (classes,); 0 if all its values are missing."""
    present = spread.present
    shares = present.shares
    entropy = -present.sums(shares * np.log(shares))
    return np.where(present.sizes > 0, np.exp(entropy), 0.0)


@dataclass(frozen=True, eq=False)
class Recursive(Local):
    r""":math:`r_1 < c (r_l + ... + r_m)`, with the counts of values in descending order.

    A class of fewer than l values has nothing on the right, and fails.

    References
    ----------
    Machanavajjhala et al. l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007, Definition
    4.2. doi:10.1145/1217299.1217302
    """

    l: float  # noqa: E741 - the letter of the literature
    column: int
    c: float
    alike: Alike = None
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Return the classes whose most frequent value is not too frequent."""
        peak, tail = peak_and_tail(classes.spreads[self.column].counted(self.alike), self.l)
        return peak < self.c * tail


def peak_and_tail(spread: Spread, l: float) -> tuple[Floats, Floats]:  # noqa: E741
    """Return r1 of each class (classes,), and the sum of r_l and all smaller counts (classes,)."""
    present = spread.present
    bits = int(present.count.max(initial=0)).bit_length()
    most = (1 << bits) - 1
    key = (present.owner << bits) | (most - present.count)  # the owners are in order already
    key.sort()
    count = most - (key & most)
    entries = np.bincount(present.owner, minlength=present.classes)
    place = np.arange(len(count)) - np.repeat(np.cumsum(entries) - entries, entries)
    return present.sums(count * (place == 0)), present.sums(count * (place >= l - 1))


def least_c(spread: Spread, l: float) -> float:  # noqa: E741
    """Return c0 such that (c, l)-diversity holds for every c > c0; infinite if there is none."""
    peak, tail = peak_and_tail(spread, l)
    if not tail.all():
        return np.inf
    return float((peak / tail).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Equal:
    r""":math:`\frac12 \sum_v |p_v - q_v| \le t`: shares p in a class, q in all released rows.

    A missing value is a value like any other.

    References
    ----------
    Li, Li, Venkatasubramanian. t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 4.3. doi:10.1109/ICDE.2007.367856
    """

    t: float
    column: int
    shares: Floats
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Return which classes are close to all released rows."""
        return variation(classes.spreads[self.column], self.shares) <= self.t + SLACK

    def within(self, classes: Classes) -> "Equal":
        """Return the criterion if only these classes are released."""
        return replace(self, shares=classes.spreads[self.column].whole)


def variation(spread: Spread, shares: Floats) -> Floats:
    """Return the total variation distance of each class (classes,) from all rows."""
    surplus = np.maximum(spread.shares - shares[spread.value], 0.0)
    return spread.sums(surplus)  # p and q sum to 1: half the L1 distance is the surplus


@dataclass(frozen=True, eq=False)
class Ordered:
    r""":math:`\frac1{m-1} \sum_{i<m} |P_i - Q_i| \le t`, with cumulated shares of m values.

    `place` is the position of each category in the order; m counts the released ones. No value may
    be missing.

    References
    ----------
    Li, Li, Venkatasubramanian. t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 4.2. doi:10.1109/ICDE.2007.367856
    """

    t: float
    column: int
    shares: Floats
    place: Ids
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Return which classes are close to all released rows."""
        distances = ordered_distance(classes.spreads[self.column], self.shares, self.place)
        return distances <= self.t + SLACK

    def within(self, classes: Classes) -> "Ordered":
        """Return the criterion if only these classes are released."""
        return replace(self, shares=classes.spreads[self.column].whole)


def order_of(column: Column, hierarchy: Hierarchy | None) -> Ids | None:
    """Return the position of each category, by size or by hierarchy; None without an order."""
    if column.numeric:
        return np.arange(column.different)
    if hierarchy is None:
        return None
    return np.argsort(np.argsort(hierarchy.at(column)))


def ordered_distance(spread: Spread, shares: Floats, place: Ids) -> Floats:
    """Return the ordered earth mover's distance of each class (classes,) from all rows.

    Between two values that occur in a class, its cumulative share P is constant, and that of all
    rows, Q, grows. |P - Q| is summed with prefix sums of Q, so the work grows with the entries of
    the classes, not with the number of values. Values that occur in neither do not count in m.
    """
    used = shares[: spread.values] > 0
    used[spread.value] = True
    if not used.all():
        rank = np.argsort(np.argsort(place[used]))
        number = np.where(used, np.cumsum(used) - 1, 0)
        shares, place = np.append(shares[: spread.values][used], shares[-1]), rank
        spread = replace(spread, value=number[spread.value], values=len(rank))
    last = spread.values - 1
    if last < 1:
        return np.zeros(spread.classes)
    order = np.lexsort((place[spread.value], spread.owner))
    at, owner = place[spread.value][order], spread.owner[order]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    running = np.cumsum(spread.shares[order])
    before = np.zeros(len(begins))
    before[1:] = running[begins[1:] - 1]
    running_share = running - np.repeat(before, np.diff(np.append(begins, len(owner))))
    until = np.append(at[1:], last)
    until[np.append(begins[1:] - 1, len(owner) - 1)] = last

    whole = np.empty(spread.values)
    whole[place] = shares[: spread.values]
    whole = np.cumsum(whole)
    summed = np.append(0.0, np.cumsum(whole))
    cross = np.clip(np.searchsorted(whole, running_share), at, until)
    distance = (
        running_share * (2 * cross - at - until) - 2 * summed[cross] + summed[at] + summed[until]
    )
    total = np.bincount(owner, distance, minlength=spread.classes)
    total[owner[begins]] += summed[at[begins]]  # before the first value of a class P is 0
    return total / last


@dataclass(frozen=True, eq=False)
class Hierarchical:
    r"""Two values are at distance level of their lowest common ancestor / height H.

    The earth mover's distance is :math:`\frac1H \sum_{h<H} D_h`, with :math:`D_h` the total
    variation distance of the labels at level h. (At each node of level h the paper pays h/H for
    the mass that moves between its children: the surplus in some children less the surplus of the
    node. Summed over all nodes, these differences telescope.) `levels` has, per level below the
    top, the label of each category. A missing value joins the others at the top.

    References
    ----------
    Li, Li, Venkatasubramanian. t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 4.3. doi:10.1109/ICDE.2007.367856
    """

    t: float
    column: int
    shares: Floats
    levels: tuple[Ids, ...]
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Return which classes are close to all released rows."""
        distances = hierarchical_distance(classes.spreads[self.column], self.shares, self.levels)
        return distances <= self.t + SLACK

    def within(self, classes: Classes) -> "Hierarchical":
        """Return the criterion if only these classes are released."""
        return replace(self, shares=classes.spreads[self.column].whole)


def levels_of(column: Column, hierarchy: Hierarchy) -> tuple[Ids, ...]:
    """Return, per level below the top, the label of each category."""
    leaves = hierarchy.at(column)
    return tuple(codes[leaves] for codes in hierarchy.codes[:-1])


def hierarchical_distance(spread: Spread, shares: Floats, levels: Sequence[Ids]) -> Floats:
    """Return the hierarchical earth mover's distance of each class (classes,) from all rows."""
    if not levels:
        return np.zeros(spread.classes)
    total = np.zeros(spread.classes)
    for labels in levels:
        count = int(labels.max(initial=-1)) + 1
        whole = np.append(np.bincount(labels, shares[:-1], minlength=count), shares[-1])
        total += variation(spread.relabelled(labels, count), whole)
    return total / len(levels)


Diversity = Literal["distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True)
class Requirements:
    """k and, if required, l with its kind of diversity, and t with its distance."""

    k: int
    l: float | None = None  # noqa: E741 - the letter of the literature
    diversity: Diversity = "distinct"
    c: float = 4.0
    t: float | None = None
    distance: Distance = "equal"

    def columns(self, table: Table) -> tuple[str, ...]:
        """Return the confidential columns for l and t; raise an error if there are none."""
        if self.l is None and self.t is None:
            return ()
        if not table.confidential:
            raise InputError(
                "l and t need confidential columns. Name them with confidential=[...] or"
                " --confidential."
            )
        return table.confidential

    def criteria(self, table: Table, counts: Ids | None = None) -> tuple[Criterion, ...]:
        """Return the criteria, the cheapest first, with shares from this table.

        `released` updates the shares when rows are suppressed. `counts` is the number of records
        that each row stands for (n,).
        """
        criteria: list[Criterion] = [Size(self.k)]
        for number, name in enumerate(self.columns(table)):
            if self.l is not None:
                criteria.append(self._diverse(self.l, number, alike_codes(table.column(name))))
            if self.t is not None:
                whole = shares(table.column(name), counts)
                criteria.append(self._close(self.t, number, name, table, whole))
        return tuple(criteria)

    def _diverse(self, l: float, number: int, alike: Alike) -> Criterion:  # noqa: E741
        if self.diversity == "entropy":
            return Entropy(l, number, alike)
        if self.diversity == "recursive":
            return Recursive(l, number, self.c, alike)
        return Distinct(l, number, alike)

    def _close(self, t: float, number: int, name: str, table: Table, whole: Floats) -> Criterion:
        if self.distance == "ordered":
            return Ordered(t, number, whole, _order(table, name))
        if self.distance == "hierarchical":
            return Hierarchical(
                t, number, whole, levels_of(table.column(name), table.hierarchy(name))
            )
        return Equal(t, number, whole)


def _order(table: Table, name: str) -> Ids:
    """Return the position of each category, or raise an error if the column has no order."""
    column = table.column(name)
    if column.missing.any():
        raise InputError(
            f"The column '{name}' has missing values, which have no place in an order. Use the"
            " distance 'equal', or fill them in."
        )
    order = order_of(column, table.hierarchies.get(name))
    if order is None:
        raise InputError(
            f"The values of '{name}' have no order. Use the distance 'equal', or a hierarchy that"
            " lists them in order."
        )
    return order


_ANYBODY = (
    "Attackers who know more than the quasi-identifiers are not covered, other columns are"
    " unchanged, and it does not compose."
)
_VALUES = "Confidential values are not covered: all rows of a class may share the same one."
_SUBSET = (
    "Rows of a class agree only in the masked columns. Other quasi-identifiers may distinguish"
    " them."
)
_UNDECLARED = (
    "Rows of a class agree only in the masked columns. No quasi-identifier is declared, so other"
    " columns may distinguish them."
)


class Anonymiser(Mechanism):
    """Forms equivalence classes that meet k, l and t."""

    family: ClassVar[str] = "k-anonymity"
    needs: ClassVar[frozenset[str]] = frozenset({"qi"})
    kind: ClassVar[Kind] = "any"
    random: ClassVar[bool] = False

    k: Annotated[
        int,
        Field(
            ge=1,
            description="rows in a class; at least 2, or 1 with l or t",
            examples=[10],
            json_schema_extra=PRIVATE,
        ),
    ]
    l: Annotated[  # noqa: E741 - the letter of the literature
        int | float | None,
        Field(ge=1, description="confidential values in a class", json_schema_extra=PRIVATE),
    ] = None
    diversity: Annotated[Diversity, Field(description="how to count values for l")] = "distinct"
    c: Annotated[
        float, Field(gt=0, description="of recursive diversity: r1 < c (r_l + ... + r_m)")
    ] = 4.0
    t: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="maximal distance of confidential values in a class from all released",
        ),
    ] = None
    distance: Annotated[Distance, Field(description="between values, for t")] = "equal"

    def __init__(self, **parameters: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(**parameters)
        if self.k < 2 and self.l is None and self.t is None:
            raise ParameterError(
                f"The 'k' parameter of {self.name} must be an integer >= 2, or 1 with l or t. Got"
                f" {self.k} instead."
            )
        if self.l is not None and self.diversity != "entropy" and self.l != int(self.l):
            raise ParameterError(
                f"The 'l' parameter of {self.name} must be an integer for {self.diversity}"
                f" diversity. Got {self.l:g} instead."
            )

    @property
    def requirements(self) -> Requirements:
        """k, l and t that every class must meet."""
        return Requirements(self.k, self.l, self.diversity, self.c, self.t, self.distance)

    @property
    def guarantee(self) -> Guarantee:
        """k-anonymity, with the requirements on confidential values."""
        extra = []
        if self.l is not None:
            kind = f"({self.c:g}, {self.l:g})" if self.diversity == "recursive" else f"{self.l:g}"
            extra.append(f"{self.diversity} {kind}-diversity")
        if self.t is not None:
            extra.append(f"{self.t:g}-closeness to all released rows, {self.distance} distance")
        caveat = f"In each confidential column also {' and '.join(extra)}." if extra else _VALUES
        numbers = {} if self.t is None else {"t": self.t}
        if self.l is not None:
            numbers["l"] = float(self.l)
        if self.k >= 2:
            guarantee = Guarantee("k-anonymity", unit=UNIT, k=self.k, **numbers)  # type: ignore[arg-type]
        elif self.l is not None:
            guarantee = Guarantee("l-diversity", unit=UNIT, **numbers)  # type: ignore[arg-type]
        else:
            guarantee = Guarantee("t-closeness", unit=UNIT, **numbers)  # type: ignore[arg-type]
        return guarantee.with_caveat(caveat).with_caveat(_ANYBODY)

    def guarantee_for(self, table: Table, columns: Sequence[str]) -> Guarantee:
        """Return the guarantee if these columns are masked; nothing if a quasi-identifier is not.

        Nothing is proved for a table without declared quasi-identifiers.
        """
        if not table.qi:
            return nothing(_UNDECLARED)
        return self.guarantee if set(table.qi) <= set(columns) else nothing(_SUBSET)

    def require_feasible(self, table: Table, records: int | None = None) -> None:
        """Raise if the requirements cannot be met by any table of this size.

        `records` is the number of records, if rows stand for several.
        """
        if not len(table):
            raise InputError("The table has no rows.")
        n = len(table) if records is None else records
        if self.k > n:
            raise InputError(f"The table has {n:,} rows, fewer than k = {self.k:,}. Lower k.")
