"""Small random tables with releases of every kind, and attackers written as plain loops."""

import math
from itertools import product

import numpy as np
from numpy.random import Generator

from veil import tables
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.mechanism import Release
from veil.tables.table import Table

LEVELS = [["a", "AB", "*"], ["b", "AB", "*"], ["c", "CD", "*"], ["d", "CD", "*"]]
ABOVE = {leaf: (leaf, above, top) for leaf, above, top in LEVELS}
SETS = {"x": "{x, y}", "y": "{x, y}", "z": "z", "w": "w"}
Cell = float | str | None


def table(rng: Generator, n: int, gaps: float = 0.0) -> Table:
    """Draw a number, a category with a hierarchy, one without, and a confidential one."""
    columns: dict[str, list[Cell]] = {
        "number": [float(x) for x in rng.integers(0, 6, n)],
        "place": [str(x) for x in rng.choice(list("abcd"), n)],
        "kind": [str(x) for x in rng.choice(list("xyzw"), n)],
    }
    for values in columns.values():
        for at in np.flatnonzero(rng.random(n) < gaps):
            values[at] = None
    illness = [str(x) for x in rng.choice(["flu", "gout", "none"], n)]
    return tables.load(
        {**columns, "illness": illness},
        qi=["number", "place", "kind"],
        confidential=["illness"],
        hierarchies={
            "place": LEVELS,
            "illness": [["flu", "ill", "*"], ["gout", "ill", "*"], ["none", "well", "*"]],
        },
    )


def release(t: Table, rng: Generator) -> Release:
    """Mask each column in one of many ways, remove some rows, and shuffle."""
    rows = rng.permutation(len(t))[: max(1, int(rng.integers(len(t) // 2, len(t) + 1)))]
    columns = {
        "number": _numbers(t.column("number"), rng),
        "place": _places(t.column("place"), rng),
        "kind": _kinds(t.column("kind"), rng),
    }
    for name, column in columns.items():
        if rng.random() < 0.3:
            blank = rng.random(len(t)) < 0.3
            columns[name] = Column.of(
                [None if gone else x for x, gone in zip(_cells(column), blank, strict=True)]
            )
    masked = t.changed(columns).take(rows)
    return Release(masked, "test", Guarantee("none", unit="record"), rows=rows)


def _cells(column: Column) -> list[Cell]:
    return [
        None if missing else x
        for x, missing in zip(column.values.tolist(), column.missing, strict=True)
    ]


def _numbers(column: Column, rng: Generator) -> Column:
    how = rng.integers(4) if column.numeric else 0
    if how == 1:
        return Column(column.values + rng.normal(size=len(column)).round(1))
    texts = {
        2: lambda x: f"[{2 * (x // 2)}-{2 * (x // 2) + 1}]",
        3: lambda x: ">3" if x > 3 else str(x),
    }
    if how not in texts:
        return column
    return Column.of([None if x is None else texts[int(how)](int(x)) for x in _cells(column)])


def _places(column: Column, rng: Generator) -> Column:
    level = int(rng.integers(3))
    if rng.random() < 0.3:
        return Column(rng.permutation(column.values))
    return Column.of([None if x is None else ABOVE[str(x)][level] for x in _cells(column)])


def _kinds(column: Column, rng: Generator) -> Column:
    if rng.random() < 0.5:
        return Column.of([None if x is None else SETS[str(x)] for x in _cells(column)])
    return column


def cells(t: Table, names: tuple[str, ...]) -> list[tuple[Cell, ...]]:
    """Return rows as tuples."""
    return list(zip(*(_cells(t.column(name)) for name in names), strict=True))


def covers(label: Cell, value: Cell, *, star: bool = True) -> bool:
    """Tell whether a released label may stand for an original value."""
    if label is None:
        return star
    if label == "*":
        return True
    if value is None:
        return False
    if isinstance(label, float):
        return label == value
    if isinstance(value, float):
        return _spans(label, value)
    return label in ABOVE.get(value, (value,)) or label == SETS.get(value)


def _spans(label: str, value: float) -> bool:
    if label.startswith("["):
        low, high = label[1:-1].split("-")
        return float(low) <= value <= float(high)
    return value > float(label[1:]) if label.startswith(">") else value == float(label)


def chances_exact(t: Table, r: Release) -> Floats:
    """Link by labels, by loops over all pairs."""
    targets, labels = cells(t, t.qi), cells(r.table, t.qi)
    may = [[all(map(covers, row, target)) for row in labels] for target in targets]
    assert r.rows is not None
    values = np.zeros(len(t))
    for i, own in enumerate(r.rows.tolist()):
        values[own] = may[own][i] / max(1, sum(may[own]))
    return values


def distance_matrix(t: Table, r: Release) -> Floats:
    """Return squares of distances (released, original), by loops."""
    observed, targets = cells(r.table, t.qi), cells(t, t.qi)
    columns = list(zip(*observed, strict=True)), list(zip(*targets, strict=True))
    total = np.zeros((len(observed), len(targets)))
    for labels, values in zip(*columns, strict=True):
        total += _column_distances(labels, values) ** 2
    return total


def _column_distances(labels: tuple[Cell, ...], values: tuple[Cell, ...]) -> Floats:
    if any(isinstance(x, float) for x in values):
        return _number_distances(labels, values)
    tree = all(x is None or any(x in row for row in LEVELS) for x in labels)
    result = [[_category(label, value, tree) for value in values] for label in labels]
    return np.array(result)


def _category(label: Cell, value: Cell, tree: bool) -> float:
    if label is None or label == "*" or value is None:
        return 0.5
    if not tree:
        return float(not covers(label, value))
    above = ABOVE.get(str(label), (str(label), "*"))
    return min(ABOVE[str(value)].index(node) for node in above if node in ABOVE[str(value)]) / 2


def _number_distances(labels: tuple[Cell, ...], values: tuple[Cell, ...]) -> Floats:
    numbers = np.array([np.nan if x is None else float(x) for x in values])
    present = numbers[~np.isnan(numbers)]
    spread = float(present.std(ddof=1)) if len(present) > 1 else 0.0
    if not spread:
        return np.zeros((len(labels), len(values)))
    ends = np.array([_ends(label) for label in labels])
    finite = np.concatenate([ends[np.isfinite(ends)], present])
    star = (finite.max() - finite.min()) / spread / 2
    gaps = np.maximum(ends[:, :1] - numbers, numbers - ends[:, 1:])
    gaps = np.maximum(gaps, 0) / spread
    result: Floats = np.where(np.isnan(gaps), star, gaps)
    return result


def _ends(label: Cell) -> tuple[float, float]:
    if label is None:
        return math.nan, math.nan
    if isinstance(label, float):
        return label, label
    if label.startswith("["):
        low, high = label[1:-1].split("-")
        return float(low), float(high)
    return (float(label[1:]), math.inf) if label.startswith(">") else (float(label), float(label))


def chances_best(scores: Floats, rows: Ids, n: int) -> Floats:
    """Return what comes of naming the originals of the highest score (released, original)."""
    values = np.zeros(n)
    for i, own in enumerate(rows.tolist()):
        near = scores[i] >= scores[i].max() - 1e-9
        values[own] = near[own] / near.sum()
    return values


def weights(t: Table, r: Release) -> Floats:
    """Return the weights of Fellegi and Sunter (released, original), by plain formulas."""
    labels, targets = cells(r.table, t.qi), cells(t, t.qi)
    pairs = product(labels, targets)
    agrees = np.array(
        [[covers(a, b, star=False) for a, b in zip(x, y, strict=True)] for x, y in pairs]
    )
    agrees = agrees.reshape(len(labels), len(targets), len(t.qi)).astype(float)
    shares = np.clip(agrees.mean(axis=1), 1e-6, 1 - 1e-6)
    u = np.clip(agrees.mean(axis=(0, 1)), 1e-6, 1 - 1e-6)
    m = _em(agrees.reshape(-1, len(t.qi)), u, 1 / len(targets))
    gain = np.log(m / shares)[:, None, :]
    values: Floats = np.where(agrees > 0, gain, np.log((1 - m) / (1 - u))).sum(axis=2)
    return values


def _em(agrees: Floats, u: Floats, share: float) -> Floats:
    m = np.full(len(u), 0.9)
    for _ in range(20_000):
        same = share * np.prod(np.where(agrees > 0, m, 1 - m), axis=1)
        other = (1 - share) * np.prod(np.where(agrees > 0, u, 1 - u), axis=1)
        odds = same / (same + other)
        after = np.clip(odds @ agrees / odds.sum(), 1e-6, 1 - 1e-6)
        change, m = np.abs(after - m).max(), after
        if change < 1e-12:
            break
    return m
