"""Lattices and Mondrian by their definitions, in plain Python, and small tables to try them on."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from veil import tables
from veil.tables.table import Table

Value = str | None
Node = tuple[int, ...]
LEAVES = ("a", "b", "c", "d")
HIERARCHIES = (
    (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")),
    (
        ("a", "a", "abc", "*"),
        ("b", "bc", "abc", "*"),
        ("c", "bc", "abc", "*"),
        ("d", "d", "d", "*"),
    ),
    (("a", "*"), ("b", "*"), ("c", "*"), ("d", "*")),
)
SECRET = (("x", "X", "*"), ("y", "X", "*"), ("z", "Z", "*"))


@dataclass(frozen=True)
class Case:
    """Rows of quasi-identifiers, a confidential value each, and a hierarchy for each column."""

    rows: tuple[tuple[Value, ...], ...]
    secret: tuple[Value, ...]
    hierarchies: tuple[int, ...]

    @property
    def table(self) -> Table:
        columns = {f"q{i}": list(column) for i, column in enumerate(zip(*self.rows, strict=True))}
        return tables.load(
            {**columns, "s": list(self.secret)},
            qi=list(columns),
            confidential=["s"],
            hierarchies={
                **{f"q{i}": HIERARCHIES[h] for i, h in enumerate(self.hierarchies)},
                "s": SECRET,
            },
        )

    @property
    def heights(self) -> Node:
        return tuple(len(HIERARCHIES[h][0]) - 1 for h in self.hierarchies)

    def label(self, column: int, value: Value, level: int) -> Value:
        if value is None:
            return "*" if level == self.heights[column] else None
        rows = HIERARCHIES[self.hierarchies[column]]
        return next(row for row in rows if row[0] == value)[level]

    def classes(self, node: Node) -> list[list[int]]:
        counts: dict[tuple[Value, ...], list[int]] = {}
        for number, row in enumerate(self.rows):
            key = tuple(self.label(j, row[j], node[j]) for j in range(len(node)))
            counts.setdefault(key, []).append(number)
        return list(counts.values())

    def nodes(self) -> list[Node]:
        return list(itertools.product(*(range(height + 1) for height in self.heights)))


@st.composite
def cases(draw: st.DrawFn, *, gaps: bool = True, most: int = 14) -> Case:
    """Draw a small table."""
    columns = draw(st.integers(1, 3))
    rows = draw(st.integers(3, most))
    values: list[Value] = list(LEAVES[: draw(st.integers(1, 4))])
    secrets: list[Value] = ["x", "y", "z"]
    if gaps and draw(st.booleans()):
        values, secrets = [*values, None], [*secrets, None]
    row = st.tuples(*[st.sampled_from(values)] * columns)
    result = tuple(draw(st.lists(row, min_size=rows, max_size=rows)))
    whole = all(any(item[j] is not None for item in result) for j in range(columns))
    result = result if whole else (("a",) * columns, *result[1:])
    secret = ["x", *draw(st.lists(st.sampled_from(secrets), min_size=rows - 1, max_size=rows - 1))]
    hierarchies = draw(st.tuples(*[st.integers(0, len(HIERARCHIES) - 1)] * columns))
    return Case(result, tuple(secret), hierarchies)


def diverse(values: Sequence[Value], diversity: str, l: float, c: float) -> bool:  # noqa: E741
    counts = sorted(Counter(value for value in values if value is not None).values(), reverse=True)
    if diversity == "distinct":
        return len(counts) >= l
    if diversity == "entropy":
        n = sum(counts)
        entropy = -sum(count / n * math.log(count / n) for count in counts)
        return bool(counts) and math.exp(entropy) >= l - 1e-9
    return len(counts) >= l and counts[0] < c * sum(counts[int(l) - 1 :])


def moved(values: Sequence[Value], whole: Sequence[Value], distance: str) -> float:
    """Return the earth mover's distance of some values from all."""
    kinds = tuple(sorted(set(whole), key=str))
    p = tuple(values.count(kind) / len(values) for kind in kinds)
    q = tuple(whole.count(kind) / len(whole) for kind in kinds)
    return _solved(kinds, p, q, distance)


@cache
def _solved(
    kinds: tuple[Value, ...], p: tuple[float, ...], q: tuple[float, ...], distance: str
) -> float:
    """Solve the linear programme."""
    cost = [[_distance(item, other, kinds, distance) for other in kinds] for item in kinds]
    m = len(kinds)
    flows = np.zeros((2 * m, m * m))
    for i in range(m):
        flows[i, i * m : (i + 1) * m] = 1
        flows[m + i, i::m] = 1
    result = linprog(np.ravel(cost), A_eq=flows, b_eq=p + q, bounds=(0, None))
    return float(result.fun)


def _distance(one: Value, other: Value, kinds: Sequence[Value], distance: str) -> float:
    if one == other:
        return 0.0
    if distance == "equal":
        return 1.0
    if distance == "ordered":
        return abs(kinds.index(one) - kinds.index(other)) / (len(kinds) - 1)
    if one is None or other is None:
        return 1.0
    rows = {row[0]: row for row in SECRET}
    height = len(SECRET[0]) - 1
    joined = next(h for h in range(height + 1) if rows[one][h] == rows[other][h])
    return joined / height


def satisfied(case: Case, rows: Sequence[int], asked: dict[str, Any], kept: Sequence[int]) -> bool:
    """Whether a class passes where `kept` are all rows that are released."""
    values = [case.secret[row] for row in rows]
    if len(rows) < asked["k"]:
        return False
    if asked.get("l") is not None and not diverse(
        values, asked.get("diversity", "distinct"), asked["l"], asked.get("c", 4.0)
    ):
        return False
    if asked.get("t") is None:
        return True
    whole = [case.secret[row] for row in kept]
    distance = moved(values, whole, asked.get("distance", "equal"))
    return distance <= float(asked["t"]) + 1e-7


def losses(case: Case, node: Node, failing: set[int], minimise: str) -> float:
    n, columns = len(case.rows), len(node)
    if minimise == "dm":
        remaining = [item for item in case.classes(node) if not set(item) & failing]
        return float(sum(len(item) ** 2 for item in remaining) + len(failing) * n)
    total = 0.0
    for row, j in itertools.product(range(n), range(columns)):
        level = case.heights[j] if row in failing else node[j]
        label = "*" if row in failing else case.label(j, case.rows[row][j], node[j])
        total += _cell(case, j, case.rows[row][j], level, label, minimise, row in failing)
    return total if minimise == "entropy" else total / (n * columns)


def _cell(case: Case, j: int, value: Value, level: int, label: Value, minimise: str,
          gone: bool) -> float:  # fmt: skip
    if minimise == "precision":
        return 1.0 if gone else level / case.heights[j]
    column = [row[j] for row in case.rows]
    if minimise == "entropy":
        same = sum(1 for other in column if gone or case.label(j, other, level) == label)
        return math.log2(same / column.count(value))
    rows = HIERARCHIES[case.hierarchies[j]]
    leaves = 1 if label is None else sum(1 for row in rows if row[level] == label)
    return 1.0 if gone else (0.0 if leaves == 1 else leaves / len(rows))


def enumerated(
    case: Case, limit: int, asked: dict[str, Any], minimise: str = "dm"
) -> tuple[set[Node], dict[Node, float], dict[Node, int]]:
    """Return the satisfying nodes, what each loses, and how many rows of every node fail."""
    satisfying, loss, failing = set(), {}, {}
    for node in case.nodes():
        bad = suppressed(case, node, asked)
        failing[node] = len(bad)
        if len(bad) <= limit:
            satisfying.add(node)
            loss[node] = losses(case, node, bad, minimise)
    return satisfying, loss, failing


def suppressed(case: Case, node: Node, asked: dict[str, Any]) -> set[int]:
    """Take classes out that fail, until all that are left pass, compared with what is left."""
    bad: set[int] = set()
    while True:
        remaining = [row for row in range(len(case.rows)) if row not in bad]
        more = {
            row
            for rows in case.classes(node)
            if not bad & set(rows) and not satisfied(case, rows, asked, remaining)
            for row in rows
        }
        if not more:
            return bad
        bad |= more


def minimal(satisfying: set[Node]) -> set[Node]:
    def below(one: Node, other: Node) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    return {node for node in satisfying if not any(below(other, node) for other in satisfying)}


def mondrian(
    columns: Sequence[Sequence[float]], passes: Callable[[list[int]], bool]
) -> list[list[int]]:
    """Cut as the paper says, one part after the other."""
    spans = [(max(column) - min(column)) or 1.0 for column in columns]
    stack, done = [list(range(len(columns[0])))], []
    while stack:
        part = stack.pop()
        widths = [
            (max(col[row] for row in part) - min(col[row] for row in part)) / span
            for col, span in zip(columns, spans, strict=True)
        ]
        sides = None
        for j in sorted(range(len(columns)), key=lambda j: -widths[j]):
            sides = _sides(columns[j], part, passes)
            if sides is not None:
                break
        if sides is None:
            done.append(sorted(part))
        else:
            stack.extend(sides)
    return sorted(done)


def _sides(
    column: Sequence[float], part: list[int], passes: Callable[[list[int]], bool]
) -> tuple[list[int], list[int]] | None:
    middle = sorted(column[row] for row in part)[len(part) // 2]
    for remaining in (
        [row for row in part if column[row] < middle],
        [row for row in part if column[row] <= middle],
    ):
        right = [row for row in part if row not in remaining]
        if remaining and right and passes(remaining) and passes(right):
            return remaining, right
    return None
