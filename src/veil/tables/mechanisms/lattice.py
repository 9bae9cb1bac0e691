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
from typing_extensions import override

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
    """The evaluation of a node.

    Attributes
    ----------
    failing
        Number of rows in failing classes, which are suppressed.
    loss
        Loss with those rows suppressed.
    bound
        Lower bound on the loss of all nodes above it.
    """

    failing: int
    loss: float
    bound: float


class NodeJudge:
    """Evaluates nodes, each once."""

    def __init__(
        self, counter: Counter, criteria: tuple[Criterion, ...], cost: Cost, limit: int
    ) -> None:
        self.counter, self.cost, self.limit = counter, cost, limit
        self._criteria = criteria
        self.verdicts: dict[Node, Verdict] = {}

    @property
    def lasting(self) -> bool:
        """Whether every node above a satisfying node also satisfies."""
        return self.limit == 0 or all(criterion.lasting for criterion in self._criteria)

    def verdict(self, node: Node) -> Verdict:
        """Return the evaluation of a node."""
        verdict = self.verdicts.get(node)
        return verdict if verdict is not None else self._judged(self.counter.at(node))

    def satisfies(self, node: Node) -> bool:
        """Return whether no more rows fail at a node than may be suppressed."""
        return self.verdict(node).failing <= self.limit

    def every(self) -> Iterator[tuple[Node, Verdict]]:
        """Evaluate all nodes."""
        for tallies in self.counter.walk():
            yield tallies[0].node, self._judged(tallies)

    def _judged(self, tallies: Tallies) -> Verdict:
        classes = self.counter.classes(tallies)
        failing = ~released(self._criteria, classes)
        rows = int(classes.sizes[failing].sum())
        whole = self.cost.all(tallies, classes)
        more = self.cost.more(tallies, classes, failing) if rows else 0
        verdict = self.verdicts[tallies[0].node] = Verdict(rows, whole + more, whole)
        return verdict


class Tags:
    """Which nodes satisfy, if satisfying is inherited upwards and failing downwards."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.known: Bools = np.zeros(shape, dtype=np.bool_)
        self.satisfying: Bools = np.zeros(shape, dtype=np.bool_)

    def mark(self, node: Node, *, satisfies: bool) -> None:
        """Tag a node, and all nodes above or below it that follow."""
        if satisfies:
            above = tuple(slice(level, None) for level in node)
            self.known[above] = self.satisfying[above] = True
        else:
            self.known[tuple(slice(level + 1) for level in node)] = True


def by_height(nodes: Ids) -> list[Node]:
    """Return nodes (m, columns) ordered by sum of levels, then by levels."""
    order = np.lexsort((*nodes.T[::-1], nodes.sum(axis=1)))
    return [tuple(node) for node in nodes[order].tolist()]


def minimal(satisfying: Bools) -> Bools:
    """Return which nodes satisfy and have no satisfying node strictly below them."""
    reached = satisfying.copy()
    for axis in range(reached.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    minima = satisfying.copy()
    for axis in range(minima.ndim):
        upper = np.moveaxis(minima, axis, 0)
        upper[1:] &= ~np.moveaxis(reached, axis, 0)[:-1]
    return minima


@dataclass(frozen=True, eq=False)
class LatticeResult:
    """The answer of a lattice search.

    Attributes
    ----------
    columns
        Columns that the levels of a node refer to, in this order.
    best
        The satisfying node with the smallest loss; ties go to the smallest sum of levels, then to
        the first by levels.
    loss, suppressed
        Its loss, and the number of rows that it suppresses.
    satisfying
        Which nodes satisfy, indexed by levels.
    judged
        Number of nodes that were evaluated.
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
        """Satisfying nodes with no satisfying node strictly below them."""
        return tuple(by_height(np.argwhere(minimal(self.satisfying))))


def allowed(suppression: float, rows: int) -> int:
    """Return the number of rows that may be suppressed, with exact decimal arithmetic."""
    return math.floor(Fraction(repr(suppression)) * rows)


def best(judge: NodeJudge, satisfying: Bools) -> Node:
    """Return the satisfying node with the smallest loss.

    Without suppression only minimal nodes can be best, because losses grow with levels. With
    suppression a higher node may suppress fewer rows. But its loss is at least that of any node
    below it without suppression, so few nodes need to be evaluated.
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
    """Return the error that no node satisfies, with what would."""
    least = min(verdict.failing for _, verdict in judge.every())
    if least >= rows:
        return InputError(
            "No generalisation meets the requirements, however many rows are suppressed. Lower k"
            " or l, or raise t or c."
        )
    share = math.ceil(10_000 * least / rows) / 10_000
    return InputError(
        f"No generalisation meets the requirements with at most {judge.limit:,} rows suppressed."
        f" At least {least:,} rows must go: try suppression={share:g}, or lower k or l."
    )


_MOST = 1_000_000  # nodes
ALL = "every node was evaluated"
FALLBACK = (
    "every node was evaluated: with suppression, a class that passes may fail when suppressed rows"
    " join it, so one node does not determine others"
)


class LatticeMethod(Anonymiser):
    """Generalises whole columns and suppresses the rows of failing classes.

    A node of the lattice has a level for each column. It satisfies if its failing classes have
    at most floor(suppression n) rows. All subclasses return the satisfying node with the smallest
    loss by `minimise`. If their shortcuts are not sound, they evaluate every node and report it.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"qi", "hierarchies"})

    suppression: Annotated[
        float, Field(ge=0, lt=1, description="share of the rows that may be removed")
    ] = 0.0
    minimise: Annotated[Minimise, Field(description="loss to minimise")] = "ncp"

    @abstractmethod
    def tag_nodes(self, judge: NodeJudge, tags: Tags) -> str:
        """Tag every node, and return how; only called if tagging is sound."""

    def search(
        self, table: Table, columns: Sequence[str] | None = None, counts: Ids | None = None
    ) -> LatticeResult:
        """Return the satisfying nodes, and the best of them.

        `counts` is the number of records that each row stands for (n,), if equal ones are merged.
        """
        names, records = self.chosen(table, columns), _records(table, counts)
        self.require_feasible(table, records)
        nodes = math.prod(table.hierarchy(name).height + 1 for name in names)
        if nodes > _MOST:
            raise InputError(
                f"The levels of these columns have {nodes:,} combinations, more than {_MOST:,}."
                " Use fewer columns or levels, or mondrian, which needs no levels."
            )
        requirements = self.requirements
        counter = Counter(table, names, requirements.columns(table), counts)
        judge = NodeJudge(
            counter,
            requirements.criteria(table, counts),
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
            return tags.satisfying, self.tag_nodes(judge, tags)
        for node, verdict in judge.every():
            tags.satisfying[node] = verdict.failing <= judge.limit
        return tags.satisfying, FALLBACK

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        del rng
        return self.masked(table, columns)

    def masked(self, table: Table, columns: Sequence[str], counts: Ids | None = None) -> Masked:
        """Mask a table whose rows stand for `counts` records each (n,)."""
        result = self.search(table, columns, counts)
        ladders = [Ladder.of(table.column(name), table.hierarchy(name)) for name in columns]
        classes = row_classes(
            [
                ladder.codes[level][table.column(name).codes]
                for name, ladder, level in zip(columns, ladders, result.best, strict=True)
            ],
            len(table),
        )
        passed = self._passed(table, classes, counts)[classes]
        rows = np.flatnonzero(passed)
        return Masked(
            _published(table.take(rows), table, rows, columns, ladders, result.best),
            rows,
            self.guarantee_for(table, columns),
            dict(zip(columns, result.best, strict=True)),
            _records(table, counts) - (len(rows) if counts is None else int(counts[rows].sum())),
            row_classes([classes[rows]], len(rows)),
            {"search": result.how},
        )

    def _passed(self, table: Table, classes: Ids, counts: Ids | None) -> Bools:
        sizes = np.bincount(classes, counts).astype(np.int64)
        spreads = tuple(
            spread(classes, *category_codes(table.column(name)), len(sizes), counts)
            for name in self.requirements.columns(table)
        )
        return released(self.requirements.criteria(table, counts), Classes(sizes, spreads))


def _records(table: Table, counts: Ids | None) -> int:
    return len(table) if counts is None else int(counts.sum())


def _published(
    remaining: Table,
    table: Table,
    rows: Ids,
    columns: Sequence[str],
    ladders: Sequence[Ladder],
    node: Node,
) -> Table:
    generalised = {}
    for name, ladder, level in zip(columns, ladders, node, strict=True):
        if level:
            labels = ladder.labels[level]
            codes = ladder.codes[level][table.column(name).codes[rows]]
            codes_of_labels = np.array(
                [-1 if label is None else i for i, label in enumerate(labels)]
            )
            generalised[name] = Column.of_codes(
                codes_of_labels[codes], [label or "" for label in labels]
            )
    return remaining.changed(generalised)


class Exhaustive(LatticeMethod):
    """Generalise whole columns to the best levels, by evaluating all of them.

    References
    ----------
    Samarati. Protecting respondents' identities in microdata release. IEEE TKDE 13(6), 2001.
    doi:10.1109/69.971193 (the lattice of generalisations, and suppression)
    """

    name: ClassVar[str] = "exhaustive"

    @override
    def tag_nodes(self, judge: NodeJudge, tags: Tags) -> str:
        for node, verdict in judge.every():
            tags.satisfying[node] = verdict.failing <= judge.limit
        return ALL


class Incognito(LatticeMethod):
    """Generalise whole columns to the best levels, searched by growing sets of columns.

    If some levels fail with all other columns at their tops, they fail with any levels of the
    others. Within a set of columns, nodes are evaluated from the bottom up, and every node above a
    satisfying one satisfies.

    References
    ----------
    LeFevre, DeWitt, Ramakrishnan. Incognito: efficient full-domain k-anonymity. SIGMOD 2005,
    Figure 8. doi:10.1145/1066157.1066164
    """

    name: ClassVar[str] = "incognito"

    @override
    def tag_nodes(self, judge: NodeJudge, tags: Tags) -> str:
        shape = judge.counter.shape
        top = tuple(size - 1 for size in shape)
        for size in range(len(shape) + 1):
            for subset in combinations(range(len(shape)), size):
                face = tuple(
                    slice(None) if column in subset else slice(last, None)
                    for column, last in enumerate(top)
                )
                offset = [0 if column in subset else last for column, last in enumerate(top)]
                for node in by_height(np.argwhere(~tags.known[face]) + offset):
                    if not tags.known[node]:
                        tags.mark(node, satisfies=judge.satisfies(node))
        return "sets of columns were evaluated from few to all, and other nodes tagged"


class OLA(LatticeMethod):
    """Generalise whole columns to the best levels, found by binary searches in the lattice.

    Every node above a satisfying one satisfies, and every node below a failing one fails. So one
    binary search settles a path from the bottom to the top of the undecided nodes.

    Notes
    -----
    The paper halves sublattices. We halve paths, as in Flash (Kohlmayer et al. 2012), with the
    same result. The paper takes the optimum among the k-minimal nodes. With suppression it need
    not be one of them, so we take it among all satisfying nodes.

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

    @override
    def tag_nodes(self, judge: NodeJudge, tags: Tags) -> str:
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
    """Return a chain of undecided nodes, each directly above the last."""
    path = [start]
    while True:
        above = next((node for node in _above(path[-1], tags) if not tags.known[node]), None)
        if above is None:
            return path
        path.append(above)


def _above(node: Node, tags: Tags) -> list[Node]:
    return [
        (*node[:column], level + 1, *node[column + 1 :])
        for column, level in enumerate(node)
        if level + 1 < tags.known.shape[column]
    ]
