"""Full-domain generalisation: exhaustive search, Incognito and OLA."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.criteria import (
    Anonymiser,
    Bools,
    Classes,
    Criterion,
    category_codes,
    released,
    spread,
)
from veil.tables.mechanism import GROUPS, Grid, Masked, Presets, group_sizes
from veil.tables.mechanisms.cube import Cost, Counter, Ladder, Minimise, Node, Tallies, cost
from veil.tables.table import Table, row_classes


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one node.

    Attributes
    ----------
    failing
        Rows of classes that fail, which are suppressed.
    loss
        What it loses, with those rows suppressed.
    bound
        What no node above it can lose less than.
    """

    failing: int
    loss: float
    bound: float


class NodeJudge:
    """Judges each node once."""

    def __init__(
        self, counter: Counter, criteria: tuple[Criterion, ...], cost: Cost, limit: int
    ) -> None:
        self.counter, self.cost, self.limit = counter, cost, limit
        self._criteria = criteria
        self.verdicts: dict[Node, Verdict] = {}

    @property
    def lasting(self) -> bool:
        """Whether every node above a satisfying one satisfies, too."""
        return self.limit == 0 or all(criterion.lasting for criterion in self._criteria)

    def verdict(self, node: Node) -> Verdict:
        """Judge a node."""
        found = self.verdicts.get(node)
        return found if found is not None else self._judged(self.counter.at(node))

    def satisfies(self, node: Node) -> bool:
        """Tell whether no more rows fail than may be suppressed."""
        return self.verdict(node).failing <= self.limit

    def every(self) -> Iterator[tuple[Node, Verdict]]:
        """Judge all nodes."""
        for tallies in self.counter.walk():
            yield tallies[0].node, self._judged(tallies)

    def _judged(self, tallies: Tallies) -> Verdict:
        classes = self.counter.classes(tallies)
        failing = ~released(self._criteria, classes)
        rows = int(classes.sizes[failing].sum())
        whole = self.cost.all(tallies, classes)
        more = self.cost.more(tallies, classes, failing) if rows else 0
        made = self.verdicts[tallies[0].node] = Verdict(rows, whole + more, whole)
        return made


class Tags:
    """Which nodes satisfy, where all above one that does do, and none below one that fails."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.known: Bools = np.zeros(shape, dtype=np.bool_)
        self.satisfying: Bools = np.zeros(shape, dtype=np.bool_)

    def mark(self, node: Node, *, satisfies: bool) -> None:
        """Tag a node and all that follows from it."""
        if satisfies:
            above = tuple(slice(level, None) for level in node)
            self.known[above] = self.satisfying[above] = True
        else:
            self.known[tuple(slice(level + 1) for level in node)] = True


def by_height(nodes: Ids) -> list[Node]:
    """Order nodes (m, columns) by their sum of levels, then by their levels."""
    order = np.lexsort((*nodes.T[::-1], nodes.sum(axis=1)))
    return [tuple(node) for node in nodes[order].tolist()]


def minimal(satisfying: Bools) -> Bools:
    """Return the satisfying nodes with no satisfying node strictly below them."""
    reached = satisfying.copy()
    for axis in range(reached.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    made = satisfying.copy()
    for axis in range(made.ndim):
        upper = np.moveaxis(made, axis, 0)
        upper[1:] &= ~np.moveaxis(reached, axis, 0)[:-1]
    return made


@dataclass(frozen=True, eq=False)
class LatticeResult:
    """The answer of a lattice search.

    Attributes
    ----------
    columns
        Of which a node has the levels, in this order.
    best
        The satisfying node that loses least; of equal ones that of the smallest sum of levels,
        then the first by levels.
    loss, suppressed
        What it loses, and how many rows it suppresses.
    satisfying
        Which nodes satisfy, by levels.
    judged
        How many nodes were counted.
    how
        How the nodes were searched.
    """

    columns: tuple[str, ...]
    best: Node
    loss: float
    suppressed: int
    satisfying: Bools
    judged: int
    how: str

    @property
    def minimal(self) -> tuple[Node, ...]:
        """The satisfying nodes with no satisfying node strictly below them."""
        return tuple(by_height(np.argwhere(minimal(self.satisfying))))


def allowed(suppression: float, rows: int) -> int:
    """Return how many rows may be suppressed: the share as it is written, times the rows."""
    return math.floor(Fraction(repr(suppression)) * rows)


def best(judge: NodeJudge, satisfying: Bools) -> Node:
    """Return the satisfying node that loses least.

    Without suppression only minimal nodes can be best, as all losses grow with levels. With it
    they need not: a node above may suppress fewer rows. But no node above one loses less than that
    one would with no row suppressed, which leaves few nodes to be judged.
    """
    if judge.limit == 0:
        nodes = by_height(np.argwhere(minimal(satisfying)))
        return _least(judge, nodes)
    open_nodes = satisfying.copy()
    bound = np.zeros(satisfying.shape)
    lowest = math.inf
    for node, verdict in judge.verdicts.items():
        _raise_bound(bound, node, verdict.bound)
        if satisfying[node]:
            open_nodes[node] = False
            lowest = min(lowest, verdict.loss)
    while True:
        limit = lowest * (1 + judge.cost.slack) if math.isfinite(lowest) else math.inf
        hopes = np.where(open_nodes & (bound <= limit), bound, math.inf)
        flat = int(hopes.argmin())
        if not math.isfinite(hopes.flat[flat]):
            break
        node = tuple(int(level) for level in np.unravel_index(flat, satisfying.shape))
        verdict = judge.verdict(node)
        open_nodes[node] = False
        lowest = min(lowest, verdict.loss)
        _raise_bound(bound, node, verdict.bound)
    return _least(judge, [node for node in judge.verdicts if satisfying[node]])


def _raise_bound(bound: Floats, node: Node, least: float) -> None:
    above = tuple(slice(level, None) for level in node)
    np.maximum(bound[above], least, out=bound[above])


def _least(judge: NodeJudge, nodes: list[Node]) -> Node:
    lowest = min(judge.verdict(node).loss for node in nodes)
    limit = lowest + abs(lowest) * judge.cost.slack
    level = [node for node in nodes if judge.verdict(node).loss <= limit]
    return min(level, key=lambda node: (sum(node), node))


def unsatisfied(judge: NodeJudge, rows: int) -> InputError:
    """Say that no node satisfies, and what would do."""
    least = min(verdict.failing for _, verdict in judge.every())
    if least >= rows:
        return InputError(
            "No generalisation satisfies what is asked, however many rows are suppressed; lower k"
            " or l, or raise t or c."
        )
    share = math.ceil(10_000 * least / rows) / 10_000
    return InputError(
        f"No generalisation satisfies what is asked with at most {judge.limit:,} rows suppressed;"
        f" the fewest are {least:,}, with suppression={share:g}. Raise it, or lower k or l."
    )


_MOST = 1_000_000  # nodes
ALL = "every node was judged"
FALLBACK = (
    "every node was judged: with suppression a class that satisfies may fail when a suppressed one"
    " joins it, so that nothing follows from one node for others"
)


class LatticeMethod(Anonymiser):
    """Generalises every column to one level and suppresses the rows of classes that fail.

    A node of the lattice has a level for each column. It satisfies if the classes that fail have
    at most floor(suppression n) rows. All methods find the same: the satisfying node that loses
    least by `minimise`, as long as what they conclude without counting is sound; where it is not,
    they judge every node and say so.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"qi", "hierarchies"})

    suppression: Annotated[
        float, Field(ge=0, lt=1, description="share of the rows that may be removed")
    ] = 0.0
    minimise: Annotated[Minimise, Field(description="what the levels should lose least of")] = (
        "ncp"
    )

    @abstractmethod
    def tagged(self, judge: NodeJudge, tags: Tags) -> str:
        """Tag every node, and say how; only called where tagging is sound."""

    def search(
        self, table: Table, columns: Sequence[str] | None = None, counts: Ids | None = None
    ) -> LatticeResult:
        """Find the satisfying nodes, and of these the best.

        `counts` says of how many records each row is (n,), where equal ones are one row.
        """
        names, records = self.chosen(table, columns), _records(table, counts)
        self.checked(table, records)
        nodes = math.prod(table.hierarchy(name).height + 1 for name in names)
        if nodes > _MOST:
            raise InputError(
                f"The levels of these columns can be combined in {nodes:,} ways, more than"
                f" {_MOST:,}; take fewer columns or levels, or mondrian, which needs none."
            )
        asked = self.asked
        counter = Counter(table, names, asked.columns(table), counts)
        judge = NodeJudge(
            counter,
            asked.criteria(table, counts),
            cost(self.minimise, table, names, counter, counts),
            allowed(self.suppression, records),
        )
        satisfying, how = self._satisfying(judge)
        if not satisfying.any():
            raise unsatisfied(judge, records)
        node = best(judge, satisfying)
        verdict = judge.verdict(node)
        return LatticeResult(
            names, node, verdict.loss, verdict.failing, satisfying, len(judge.verdicts), how
        )

    def _satisfying(self, judge: NodeJudge) -> tuple[Bools, str]:
        tags = Tags(judge.counter.shape)
        if judge.lasting:
            return tags.satisfying, self.tagged(judge, tags)
        for node, verdict in judge.every():
            tags.satisfying[node] = verdict.failing <= judge.limit
        return tags.satisfying, FALLBACK

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Search, generalise and suppress."""
        del rng
        return self.masked(table, columns)

    def masked(self, table: Table, columns: Sequence[str], counts: Ids | None = None) -> Masked:
        """Do the same where each row is of so many records (n,)."""
        found = self.search(table, columns, counts)
        ladders = [Ladder.of(table.column(one), table.hierarchy(one)) for one in columns]
        classes = row_classes(
            [
                ladder.codes[level][table.column(name).codes]
                for name, ladder, level in zip(columns, ladders, found.best, strict=True)
            ],
            len(table),
        )
        passed = self._passed(table, classes, counts)[classes]
        rows = np.flatnonzero(passed)
        return Masked(
            _published(table.take(rows), table, rows, columns, ladders, found.best),
            rows,
            self.proved(table, columns),
            dict(zip(columns, found.best, strict=True)),
            _records(table, counts) - (len(rows) if counts is None else int(counts[rows].sum())),
            row_classes([classes[rows]], len(rows)),
            {"search": found.how},
        )

    def _passed(self, table: Table, classes: Ids, counts: Ids | None) -> Bools:
        """Tell which classes pass, counted anew from the rows."""
        sizes = np.bincount(classes, counts).astype(np.int64)
        spreads = tuple(
            spread(classes, *category_codes(table.column(name)), len(sizes), counts)
            for name in self.asked.columns(table)
        )
        return released(self.asked.criteria(table, counts), Classes(sizes, spreads))


def _records(table: Table, counts: Ids | None) -> int:
    return len(table) if counts is None else int(counts.sum())


def _published(
    kept: Table,
    table: Table,
    rows: Ids,
    columns: Sequence[str],
    ladders: Sequence[Ladder],
    node: Node,
) -> Table:
    """Return the kept rows with the labels of a node."""
    made = {}
    for name, ladder, level in zip(columns, ladders, node, strict=True):
        if level:
            labels = ladder.labels[level]
            codes = ladder.codes[level][table.column(name).codes[rows]]
            there = np.array([-1 if label is None else i for i, label in enumerate(labels)])
            made[name] = Column.of_codes(there[codes], [label or "" for label in labels])
    return kept.changed(made)


class Exhaustive(LatticeMethod):
    """Generalise whole columns to the best of all levels, each of which is tried.

    References
    ----------
    Samarati. Protecting respondents' identities in microdata release. IEEE TKDE 13(6), 2001.
    doi:10.1109/69.971193 (the lattice of generalisations, and suppression)
    """

    name: ClassVar[str] = "exhaustive"

    def tagged(self, judge: NodeJudge, tags: Tags) -> str:
        """Judge all."""
        for node, verdict in judge.every():
            tags.satisfying[node] = verdict.failing <= judge.limit
        return ALL


class Incognito(LatticeMethod):
    """Generalise whole columns to the best levels, found by sets of columns that grow.

    Levels of some columns that fail with all others at their tops fail whatever the others are;
    within a set of columns nodes are judged from the bottom, and all above one that satisfies do.

    References
    ----------
    LeFevre, DeWitt, Ramakrishnan. Incognito: efficient full-domain k-anonymity. SIGMOD 2005,
    Figure 8. doi:10.1145/1066157.1066164
    """

    name: ClassVar[str] = "incognito"

    def tagged(self, judge: NodeJudge, tags: Tags) -> str:
        """Judge the sets of one column, of two, and so on."""
        shape = judge.counter.shape
        top = tuple(size - 1 for size in shape)
        for size in range(len(shape) + 1):
            for some in combinations(range(len(shape)), size):
                face = tuple(
                    slice(None) if column in some else slice(last, None)
                    for column, last in enumerate(top)
                )
                offset = [0 if column in some else last for column, last in enumerate(top)]
                for node in by_height(np.argwhere(~tags.known[face]) + offset):
                    if not tags.known[node]:
                        tags.mark(node, satisfies=judge.satisfies(node))
        return "sets of columns were judged from few to all, and other nodes tagged"


class OLA(LatticeMethod):
    """Generalise whole columns to the best levels, found by binary searches in the lattice.

    Of a node that satisfies all above do, and of one that fails none below does, so that a path
    from the bottom to the top of what is not known yet is settled by a binary search.

    Notes
    -----
    The paper halves sublattices; here paths are halved, as in Flash (Kohlmayer et al. 2012), which
    finds the same nodes. The paper looks for the optimum among the k-minimal nodes; with
    suppression it need not be there, and is looked for among all that satisfy.

    References
    ----------
    El Emam et al. A globally optimal k-anonymity method for the de-identification of health data.
    JAMIA 16(5), 2009, Figures 3 and 4. doi:10.1197/jamia.M3144
    """

    name: ClassVar[str] = "ola"
    grid: ClassVar[Grid | None] = Grid("ola(suppression=0.05)", "k", GROUPS, groups=True)
    presets: ClassVar[Presets | None] = lambda table: [
        f"ola(k={k}, suppression=0.05)" for k in group_sizes(table)
    ]

    def tagged(self, judge: NodeJudge, tags: Tags) -> str:
        """Settle path by path, from the bottom."""
        for start in by_height(np.argwhere(~tags.known)):
            if tags.known[start]:
                continue
            path = _path(start, tags)
            low, high = 0, len(path)
            while low < high:
                middle = (low + high) // 2
                satisfies = judge.satisfies(path[middle])
                tags.mark(path[middle], satisfies=satisfies)
                low, high = (low, middle) if satisfies else (middle + 1, high)
        return "paths through the lattice were searched by halves, and other nodes tagged"


def _path(start: Node, tags: Tags) -> list[Node]:
    """Return nodes that nothing is known of, each above the last, as far as there are any."""
    path = [start]
    while True:
        above = next((node for node in _above(path[-1], tags) if not tags.known[node]), None)
        if above is None:
            return path
        path.append(above)


def _above(node: Node, tags: Tags) -> list[Node]:
    """Return the nodes one level above."""
    return [
        (*node[:column], level + 1, *node[column + 1 :])
        for column, level in enumerate(node)
        if level + 1 < tags.known.shape[column]
    ]
