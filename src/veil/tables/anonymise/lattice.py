"""Whole columns generalised, each to one level: the search for the levels that lose least."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Ids
from veil.tables.anonymise.costs import Minimise, cost
from veil.tables.anonymise.counter import Counter
from veil.tables.anonymise.cube import Node
from veil.tables.anonymise.found import Found, allowed, best, unsatisfied
from veil.tables.anonymise.judge import Judge
from veil.tables.anonymise.ladder import Ladder
from veil.tables.anonymise.parameters import Anonymiser
from veil.tables.anonymise.tags import Tags
from veil.tables.column import Column
from veil.tables.criteria.classes import Classes, spread, valued
from veil.tables.criteria.criterion import Bools, passing
from veil.tables.method import Masked
from veil.tables.table import Table, row_classes

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
    minimise: Annotated[Minimise, Field(description="what the levels should lose least of")] = "dm"

    @abstractmethod
    def tagged(self, judge: Judge, tags: Tags) -> str:
        """Tag every node, and say how; only called where tagging is sound."""

    def search(
        self, table: Table, columns: Sequence[str] | None = None, counts: Ids | None = None
    ) -> Found:
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
        judge = Judge(
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
        return Found(
            names, node, verdict.loss, verdict.failing, satisfying, len(judge.verdicts), how
        )

    def _satisfying(self, judge: Judge) -> tuple[Bools, str]:
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
            spread(classes, *valued(table.column(name)), len(sizes), counts)
            for name in self.asked.columns(table)
        )
        return passing(self.asked.criteria(table, counts), Classes(sizes, spreads))


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
