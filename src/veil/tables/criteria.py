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
_ROOM = 4  # cells of a dense table of counts for each entry, above which keys are sorted


@dataclass(frozen=True, eq=False)
class Spread:
    """How often each value of a confidential column is in each class.

    Attributes
    ----------
    owner
        The class of each entry (entries,), ascending; a class and a value that meet are one entry.
    value
        The category (entries,); `values` itself stands for a value that is missing.
    count
        How many rows (entries,).
    values, classes
        How many categories and classes there are.
    """

    owner: Ids
    value: Ids
    count: Ids
    values: int
    classes: int

    @property
    def known(self) -> "Spread":
        """The same without values that are missing."""
        there = self.value < self.values
        if there.all():
            return self
        return replace(
            self, owner=self.owner[there], value=self.value[there], count=self.count[there]
        )

    @property
    def sizes(self) -> Floats:
        """Rows of each class (classes,)."""
        return self.sums(self.count)

    def sums(self, amounts: Ids | Floats) -> Floats:
        """Add up amounts (entries,) by class (classes,)."""
        made = np.bincount(self.owner, amounts, minlength=self.classes)
        return np.asarray(made, dtype=np.float64)

    @property
    def shares(self) -> Floats:
        """Each entry's share of its class (entries,)."""
        return self.count / self.sizes[self.owner]

    def relabelled(self, labels: Ids, values: int) -> "Spread":
        """Return the same with another label for each category; several may become one."""
        told = np.append(labels, values)  # what is missing stays so
        if len(np.unique(told)) == len(told):
            return replace(self, value=told[self.value], values=values)
        return spread(self.owner, told[self.value], values, self.classes, self.count)

    def counted(self, alike: tuple[Ids, int] | None) -> "Spread":
        """Return the same with values as they count for l: see `alike_codes`."""
        return self if alike is None else self.relabelled(*alike)

    def of_classes(self, kept: "Bools") -> "Spread":
        """Return the same of some classes (classes,) alone."""
        number = np.cumsum(kept) - 1
        there = kept[self.owner]
        return replace(
            self,
            owner=number[self.owner[there]],
            value=self.value[there],
            count=self.count[there],
            classes=int(kept.sum()),
        )

    @property
    def whole(self) -> Floats:
        """The share of each value in all classes together (values + 1,)."""
        counts = np.bincount(self.value, self.count, minlength=self.values + 1)
        return np.asarray(counts / max(1, int(self.count.sum())), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Classes:
    """Sizes of classes (m,), and per confidential column how its values spread over them."""

    sizes: Ids
    spreads: tuple[Spread, ...] = ()

    def kept(self, some: "Bools") -> "Classes":
        """Return some of the classes (m,)."""
        return Classes(self.sizes[some], tuple(one.of_classes(some) for one in self.spreads))


def spread(owner: Ids, value: Ids, values: int, classes: int, count: Ids | None = None) -> Spread:
    """Count the values (n,) of rows by their class (n,); `values` stands for a missing one."""
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
    """Return which categories of a column count as one (categories,), and how many are left.

    None: all of them differ. Texts that differ in case, blanks or the spelling of a number are one
    value to whoever reads them.
    """
    if column.numeric:
        return None
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(alike(label), len(numbers)) for label in column.categories]
    if len(numbers) == len(codes):
        return None
    return np.array(codes, dtype=np.int64), len(numbers)


def category_codes(column: Column) -> tuple[Ids, int]:
    """Return the category of each row (n,), one more for a missing one, and their number."""
    values = column.different
    return np.where(column.codes < 0, values, column.codes), values


def shares(column: Column, counts: Ids | None = None) -> Floats:
    """Return the share of each category in a whole column, and of what is missing at the end.

    `counts` says of how many records each row is (n,).
    """
    value, values = category_codes(column)
    total = len(column) if counts is None else int(counts.sum())
    return np.bincount(value, counts, minlength=values + 1) / max(1, total)


SLACK = 1e-9  # what rounding may add to an entropy or a distance


class Criterion(Protocol):
    """Tells which classes pass.

    `lasting` says that a class which passes still does when any rows join it. All criteria here
    hold of two classes together if they hold of each; only lasting ones hold if they do of one,
    which is what it takes when failing classes are suppressed.
    """

    lasting: ClassVar[bool]

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes (m,) pass."""
        ...

    def within(self, classes: Classes) -> "Criterion":
        """Return the same where these classes are all that is released."""
        ...


class Local:
    """A criterion that looks at each class alone."""

    def within(self, classes: Classes) -> Self:
        """Return itself: what else is released makes no difference."""
        del classes
        return self


def released(criteria: tuple[Criterion, ...], classes: Classes) -> Bools:
    """Tell which classes (m,) can be released when all others are suppressed.

    Closeness compares a class with all that is released. So when classes are suppressed, the rest
    is compared anew, until all that is left passes; a class that was suppressed stays so.
    """
    kept = passing(criteria, classes)
    while kept.any() and not kept.all():
        rest = classes.kept(kept)
        passed = passing(tuple(one.within(rest) for one in criteria), rest)
        if passed.all():
            break
        kept[np.flatnonzero(kept)[~passed]] = False
    return kept


def passing(criteria: tuple[Criterion, ...], classes: Classes) -> Bools:
    """Tell which classes (m,) pass all criteria."""
    made = np.ones(len(classes.sizes), dtype=np.bool_)
    for criterion in criteria:
        made &= criterion.passes(classes)
    return made


@dataclass(frozen=True)
class Size(Local):
    """At least `k` rows look alike.

    References
    ----------
    Sweeney. k-anonymity: a model for protecting privacy. IJUFKS 10(5), 2002, Definition 3.
    doi:10.1142/S0218488502001648
    """

    k: int
    lasting: ClassVar[bool] = True

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes are large enough."""
        return classes.sizes >= self.k


@dataclass(frozen=True, eq=False)
class Distinct(Local):
    """At least `l` different values of a confidential column; a missing one is none.

    Values that are spelled in several ways are one: `alike` says which.

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
        """Tell which classes have enough values."""
        return count_distinct(classes.spreads[self.column].counted(self.alike)) >= self.l


def count_distinct(spread: Spread) -> Ids:
    """Count the different values of each class (classes,)."""
    known = spread.known
    return np.bincount(known.owner, minlength=known.classes)


@dataclass(frozen=True, eq=False)
class Entropy(Local):
    r""":math:`e^{H} \ge l`, with H the entropy of the values that are not missing.

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
        """Tell which classes are uncertain enough."""
        return effective(classes.spreads[self.column].counted(self.alike)) >= self.l - SLACK


def effective(spread: Spread) -> Floats:
    """Return the exponential of each class's entropy (classes,); 0 where no value is known."""
    known = spread.known
    shares = known.shares
    entropy = -known.sums(shares * np.log(shares))
    return np.where(known.sizes > 0, np.exp(entropy), 0.0)


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
        """Tell in which classes the most frequent value is not too frequent."""
        peak, tail = peak_and_tail(classes.spreads[self.column].counted(self.alike), self.l)
        return peak < self.c * tail


def peak_and_tail(spread: Spread, l: float) -> tuple[Floats, Floats]:  # noqa: E741
    """Return of each class r1 (classes,) and the sum of r_l to the last (classes,)."""
    known = spread.known
    bits = int(known.count.max(initial=0)).bit_length()
    most = (1 << bits) - 1
    key = (known.owner << bits) | (most - known.count)  # the owners are in order already
    key.sort()
    count = most - (key & most)
    entries = np.bincount(known.owner, minlength=known.classes)
    place = np.arange(len(count)) - np.repeat(np.cumsum(entries) - entries, entries)
    return known.sums(count * (place == 0)), known.sums(count * (place >= l - 1))


def least_c(spread: Spread, l: float) -> float:  # noqa: E741
    """Return c0 such that (c, l)-diversity holds for every c > c0; infinite if for none."""
    peak, tail = peak_and_tail(spread, l)
    if not tail.all():
        return np.inf
    return float((peak / tail).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Equal:
    r""":math:`\frac12 \sum_v |p_v - q_v| \le t`: shares p of a class, q of all that is released.

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
        """Tell which classes are close to the whole."""
        return variation(classes.spreads[self.column], self.shares) <= self.t + SLACK

    def within(self, classes: Classes) -> "Equal":
        """Return the same where these classes are all that is released."""
        return replace(self, shares=classes.spreads[self.column].whole)


def variation(spread: Spread, shares: Floats) -> Floats:
    """Return the total variation distance of each class (classes,) from the whole."""
    surplus = np.maximum(spread.shares - shares[spread.value], 0.0)
    return spread.sums(surplus)  # p and q both add up to 1, so half of all is what is too much


@dataclass(frozen=True, eq=False)
class Ordered:
    r""":math:`\frac1{m-1} \sum_{i<m} |P_i - Q_i| \le t`, with cumulated shares of m values.

    `place` says where in the order each category stands; m are those that are released. No value
    may be missing.

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
        """Tell which classes are close to the whole."""
        found = ordered_distance(classes.spreads[self.column], self.shares, self.place)
        return found <= self.t + SLACK

    def within(self, classes: Classes) -> "Ordered":
        """Return the same where these classes are all that is released."""
        return replace(self, shares=classes.spreads[self.column].whole)


def order_of(column: Column, hierarchy: Hierarchy | None) -> Ids | None:
    """Return the place of each category: by size, or as a hierarchy lists them; else None."""
    if column.numeric:
        return np.arange(column.different)
    if hierarchy is None:
        return None
    return np.argsort(np.argsort(hierarchy.at(column)))


def ordered_distance(spread: Spread, shares: Floats, place: Ids) -> Floats:
    """Return how far each class (classes,) must move to spread as the whole.

    Between two values that a class has, its cumulated share P stays while that of the whole, Q,
    grows: |P - Q| is added up by sums of Q, so that the work grows with what is in the classes
    and not with the number of values. A value that neither has is none of the m.
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
    mine = running - np.repeat(before, np.diff(np.append(begins, len(owner))))
    until = np.append(at[1:], last)
    until[np.append(begins[1:] - 1, len(owner) - 1)] = last

    whole = np.empty(spread.values)
    whole[place] = shares[: spread.values]
    whole = np.cumsum(whole)
    summed = np.append(0.0, np.cumsum(whole))
    cross = np.clip(np.searchsorted(whole, mine), at, until)
    apart = mine * (2 * cross - at - until) - 2 * summed[cross] + summed[at] + summed[until]
    total = np.bincount(owner, apart, minlength=spread.classes)
    total[owner[begins]] += summed[at[begins]]  # before the first value of a class P is 0
    return total / last


@dataclass(frozen=True, eq=False)
class Hierarchical:
    r"""Two values are at distance level of their lowest common ancestor / height H.

    The earth mover's distance is then :math:`\frac1H \sum_{h<H} D_h`, with :math:`D_h` the total
    variation distance of the labels at level h. (At each node of level h the paper pays h/H for
    what moves between its children, which is what is too much in some of them less what is too
    much in the node; summed over all nodes these differences telescope.) `levels` has, per level
    below the top, the label of each category. A missing value is joined with others at the top.

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
        """Tell which classes are close to the whole."""
        found = hierarchical_distance(classes.spreads[self.column], self.shares, self.levels)
        return found <= self.t + SLACK

    def within(self, classes: Classes) -> "Hierarchical":
        """Return the same where these classes are all that is released."""
        return replace(self, shares=classes.spreads[self.column].whole)


def levels_of(column: Column, hierarchy: Hierarchy) -> tuple[Ids, ...]:
    """Return per level below the top the label of each category."""
    leaves = hierarchy.at(column)
    return tuple(codes[leaves] for codes in hierarchy.codes[:-1])


def hierarchical_distance(spread: Spread, shares: Floats, levels: Sequence[Ids]) -> Floats:
    """Return how far each class (classes,) must move to spread as the whole."""
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

        Where rows are suppressed, `released` compares with those of what is left.

        `counts` says of how many records each row is (n,).
        """
        made: list[Criterion] = [Size(self.k)]
        for number, name in enumerate(self.columns(table)):
            if self.l is not None:
                made.append(self._diverse(self.l, number, alike_codes(table.column(name))))
            if self.t is not None:
                whole = shares(table.column(name), counts)
                made.append(self._close(self.t, number, name, table, whole))
        return tuple(made)

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


_ANYBODY = (
    "Nothing is said against who knows more than the quasi-identifiers, other columns are as they"
    " were, and it does not compose."
)
_VALUES = "Nothing is said of confidential values: those of a class may all be the same."
_SUBSET = (
    "Classes are alike in the masked columns alone: other quasi-identifiers may tell their rows"
    " apart."
)
_UNDECLARED = (
    "Classes are alike in the masked columns alone: no quasi-identifier is declared, and other"
    " columns may tell their rows apart."
)


class Anonymiser(Mechanism):
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
        Field(
            ge=0, le=1, description="distance of a class's confidential values from all released"
        ),
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
    def asked(self) -> Requirements:
        """What every class must satisfy."""
        return Requirements(self.k, self.l, self.diversity, self.c, self.t, self.distance)

    @property
    def guarantee(self) -> Guarantee:
        """k-anonymity, and what is asked of confidential values."""
        extra = []
        if self.l is not None:
            kind = f"({self.c:g}, {self.l:g})" if self.diversity == "recursive" else f"{self.l:g}"
            extra.append(f"{self.diversity} {kind}-diversity")
        if self.t is not None:
            extra.append(f"{self.t:g}-closeness to all released rows, {self.distance} distance")
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
        """Return what is proved when these columns are masked; nothing if a known one is not.

        Nothing is proved either of a table of which nobody says what an attacker may know.
        """
        if not table.qi:
            return nothing(_UNDECLARED)
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
