"""Curves of the risk-utility plane from the tidy table, and their scores."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veil.core.estimate import p_values
from veil.core.parallel import one_blas_thread
from veil.core.types import Floats
from veil.measures.quipu import quipu_difference, quipu_interval
from veil.studies import DEFAULT
from veil.studies.domains import mechanism_class, vocabulary
from veil.studies.results import PLAIN, Row, Score

Key = tuple[str, str, str]  # mechanism, swept parameter, the rest of the spec


@dataclass(frozen=True, slots=True)
class Point:
    """One configuration in the plane."""

    risk: Row
    utility: Row


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of one mechanism, in order of its parameter, towards the more useful end."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plane: the data, its user, an attacker, and the measure of the attacker's success.

    `plain` is the utility without protection, `lost` the number of configurations that are not on
    the plane because a figure is missing or not a number.
    """

    data: str
    task: str
    attacker: str
    measure: str
    curves: tuple[Curve, ...]
    plain: Row | None
    chance: float | None
    lost: int
    domain: str


def key(row: Row) -> Key:
    """Return the key that the rows of one curve share.

    >>> row = Row("c", "e", "vickrey", "vickrey(epsilon=5.0, t=0.75)", "epsilon", 5.0, 50,
    ...           "risk", "lazy", "inference", 0.1, 0.0, 0.2, 43)
    >>> key(row)
    ('vickrey', 'epsilon', 'vickrey(t=0.75)')
    """
    if not row.parameter:
        return row.mechanism, "", row.spec
    swept = rf"\b{re.escape(row.parameter)}=[^,()]*"
    rest = re.sub(rf"{swept},\s*|,\s*{swept}|{swept}", "", row.spec, count=1)
    return row.mechanism, row.parameter, rest.removesuffix("()")


def names(rows: Iterable[Row]) -> dict[tuple[Key, int], str]:
    """Return the name of each curve: its mechanism, and the values that distinguish it.

    Size 0 means the curve for any number of releases.
    """
    sizes: dict[Key, set[int]] = {}
    kind = DEFAULT
    for row in rows:
        kind = row.domain
        if row.mechanism != PLAIN:
            counted = sizes.setdefault(key(row), set())
            if row.kind == "risk":
                counted.add(row.size)
    short = short_names(sizes)
    labels: dict[tuple[Key, int], str] = {}
    for curve, counted in sizes.items():
        labels[curve, 0] = short[curve]
        for size in sorted(counted):
            several = f", {vocabulary(kind).sizes(size)}" if len(counted) > 1 else ""
            labels[curve, size] = short[curve] + several
    return labels


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Return the planes, with each risk joined to the utility of the same configuration."""
    utility = _utilities(rows)
    cells: dict[tuple[str, str, str, str], list[Point]] = {}
    for row in rows:
        if row.kind == "risk":
            for useful in utility.get((row.data, row.spec, row.size), [_missing(row)]):
                if not row.task or useful.task in ("", row.task):
                    task = useful.task or row.task
                    place = (row.data, task, row.attacker, row.measure)
                    cells.setdefault(place, []).append(Point(row, useful))
    order = list(dict.fromkeys((c, e, a) for c, e, a, _ in cells))
    words = vocabulary(rows[0].domain if rows else DEFAULT)
    places = sorted(cells, key=lambda cell: (order.index(cell[:3]), words.rank(cell[3])))
    labels = names(rows)
    return [_panel(place, cells[place], labels, rows) for place in places]


def is_utility(row: Row) -> bool:
    """Return whether a row is the utility that the plane shows."""
    if row.kind != "utility":
        return False
    return row.measure.casefold() == vocabulary(row.domain).utility.name.casefold()


def _utilities(rows: Sequence[Row]) -> dict[tuple[str, str, int], list[Row]]:
    utilities: dict[tuple[str, str, int], list[Row]] = {}
    for row in filter(is_utility, rows):
        utilities.setdefault((row.data, row.spec, row.size), []).append(row)
    return utilities


def _missing(row: Row) -> Row:
    gap = math.nan
    return Row(
        row.data, row.task, row.mechanism, row.spec, row.parameter, row.value, row.size,
        "utility", vocabulary(row.domain).utility.name, "", gap, gap, gap, 0, domain=row.domain,
    )  # fmt: skip


def _ordered(points: Sequence[Point]) -> tuple[Point, ...]:
    """Sort points from private to useful: the sign of an area depends on the direction."""
    first = points[0].risk
    cls = mechanism_class(first.domain, first.mechanism)
    private = cls is not None and cls.direction(first.parameter) == "private"
    return tuple(sorted(points, key=lambda point: point.risk.value, reverse=private))


def _panel(
    place: tuple[str, str, str, str],
    points: list[Point],
    labels: dict[tuple[Key, int], str],
    rows: Sequence[Row],
) -> Panel:
    data, task, attacker, measure = place
    lines: dict[str, list[Point]] = {}
    lost = 0
    for point in points:
        if point.risk.mechanism == PLAIN:
            continue
        if math.isfinite(point.risk.score) and math.isfinite(point.utility.score):
            lines.setdefault(labels[key(point.risk), point.risk.size], []).append(point)
        else:
            lost += 1
    curves = tuple(Curve(name, _ordered(line)) for name, line in lines.items())
    unprotected = [
        row
        for row in filter(is_utility, rows)
        if row.mechanism == PLAIN
        and (row.data, row.task) == (data, task)
        and math.isfinite(row.score)
    ]
    chances = [point.risk.chance for point in points if point.risk.chance is not None]
    chance = max(filter(math.isfinite, chances), default=None)
    return Panel(
        data,
        task,
        attacker,
        measure,
        curves,
        unprotected[0] if unprotected else None,
        chance,
        lost,
        rows[0].domain,
    )


_VALUE = re.compile(r"""(\w+)=("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,]*)""")


def short_names(keys: Iterable[Key]) -> dict[Key, str]:
    """Return names of curves: the mechanism and the fixed values that its curves do not share.

    >>> one, other = ("v", "e", "v(t=0.75, noise='cmp')"), ("v", "e", "v(t=0.75, noise='mhl')")
    >>> list(short_names([one, other]).values())
    ['v(noise=cmp)', 'v(noise=mhl)']
    >>> short_names([one])[one]
    'v'
    """
    groups: dict[str, list[Key]] = {}
    for curve in keys:
        groups.setdefault(curve[0], []).append(curve)
    return {
        curve: name for group in groups.values() for curve, name in _distinct_names(group).items()
    }


def _distinct_names(group: list[Key]) -> dict[Key, str]:
    """Return the shortest distinct names for curves of one mechanism."""
    for labels in (_differing_values(group), {curve: curve[2] for curve in group}):
        if len(set(labels.values())) == len(group):
            return labels
    return {curve: f"{curve[2]} by {curve[1] or 'nothing'}" for curve in group}


def _differing_values(group: list[Key]) -> dict[Key, str]:
    """Return names of curves with the fixed values that not all of them share."""
    fixed = {curve: _fixed_values(curve) for curve in group}
    labels = {}
    for curve, values in fixed.items():
        differing = [
            f"{name}={value}"
            for name, value in values.items()
            if any(other.get(name) != value for other in fixed.values())
        ]
        labels[curve] = f"{curve[0]}({', '.join(differing)})" if differing else curve[0]
    return labels


def _fixed_values(curve: Key) -> dict[str, str]:
    """Return the values in a spec as written, but strings without quotes."""
    mechanism, _, rest = curve
    return {
        name: value[1:-1] if value[:1] in ("'", '"') else value.strip()
        for name, value in _VALUE.findall(rest.removeprefix(mechanism)[1:-1])
    }


Planned = Counter[
    tuple[Key, int, str]
]  # points of a curve, by its number of releases and attacker


def scores(
    rows: Sequence[Row], samples: Mapping[Row, Floats], planned: Planned | None = None
) -> tuple[Score, ...]:
    """Return the score of each curve, and its distance to the best one of its plane.

    Parameters
    ----------
    samples
        (n,) the values behind the mean of each row of risk or utility, in the same order of
        subjects for all rows; nan if missing.
    planned
        Number of points of each complete curve.
    """
    results: list[Score] = []
    with one_blas_thread():  # the products are many and small
        for panel in panels(rows):
            if vocabulary(panel.domain).axis(panel.measure).scored:
                lines = [_Line.of(curve, samples) for curve in panel.curves]
                results += _ranked(lines, [_score(panel, line, planned) for line in lines])
    return tuple(results)


@dataclass(frozen=True, eq=False)
class _Line:
    """A curve by subject: column j of both arrays (points, n) is subject j."""

    curve: Curve
    risks: Floats
    utilities: Floats

    @classmethod
    def of(cls, curve: Curve, samples: Mapping[Row, Floats]) -> "_Line":
        return cls(
            curve,
            np.stack([samples[point.risk] for point in curve.points]),
            np.stack([samples[point.utility] for point in curve.points]),
        )

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Mask (n,) of the subjects with values at every point."""
        return np.asarray(np.isfinite(self.risks + self.utilities).all(axis=0))

    def at(self, subjects: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        return self.risks[:, subjects], self.utilities[:, subjects]


def _score(panel: Panel, line: _Line, planned: Planned | None) -> Score:
    first = line.curve.points[0].risk
    mechanism, parameter, spec = key(first)
    points = len(line.curve.points)
    total = planned[key(first), first.size, panel.attacker] if planned is not None else points
    score = Score(
        panel.data, panel.task, panel.attacker, panel.measure, line.curve.name, mechanism,
        spec, parameter, first.size, math.nan, math.nan, math.nan, 0, points, total - points,
        domain=panel.domain,
    )  # fmt: skip
    if not line.complete.any():
        return score
    area = quipu_interval(*line.at(line.complete))
    return replace(score, score=float(area), low=area.low, high=area.high, n=area.n)


def _ranked(lines: Sequence[_Line], results: Sequence[Score]) -> list[Score]:
    """Compare every curve of several points with the best one, on the same subjects."""
    ranked = [i for i, score in enumerate(results) if score.points > 1 and score.n]
    if not ranked:
        return list(results)
    best = lines[max(ranked, key=lambda i: results[i].score)]
    return [
        _behind(best, line, score) if i in ranked else score
        for i, (line, score) in enumerate(zip(lines, results, strict=True))
    ]


def _behind(best: _Line, line: _Line, score: Score) -> Score:
    common = best.complete & line.complete
    if not common.any():
        return score
    gap = quipu_difference(*best.at(common), *line.at(common))
    return replace(score, behind=float(gap), behind_low=gap.low, behind_high=gap.high)


def compared(rows: Sequence[Row], samples: Mapping[Row, Floats]) -> tuple[Row, ...]:
    """Return rows in which each utility has its p-value against no protection, if known.

    The test is a paired randomisation test: the signs of the differences by subject are random.
    """
    p: dict[Row, float] = {}
    for unprotected in rows:
        if unprotected.mechanism == PLAIN and is_utility(unprotected):
            place = (unprotected.data, unprotected.task)
            others = [
                row
                for row in filter(is_utility, rows)
                if row.mechanism != PLAIN and (row.data, row.task) == place
            ]
            p |= _against(samples[unprotected], others, samples)
    return tuple(replace(row, p_value=p[row]) if row in p else row for row in rows)


def _against(
    unprotected: Floats, others: Sequence[Row], samples: Mapping[Row, Floats]
) -> dict[Row, float]:
    gaps = {row: samples[row] - unprotected for row in others}
    finite = {row: gap for row, gap in gaps.items() if np.isfinite(gap).any()}
    if not finite:
        return {}
    values = p_values(np.stack(list(finite.values())))
    return dict(zip(finite, values.tolist(), strict=True))
