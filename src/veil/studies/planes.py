"""The QuIPU scores of a study: every curve of every plane, with its uncertainty."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veil.core.parallel import one_blas_thread
from veil.core.types import Floats
from veil.measures.quipu import quipu_difference, quipu_interval
from veil.studies._curves import Curve, Key, Panel, key, panels
from veil.studies.table import Row, Score

OFF_SCALE = frozenset({"persistent"})  # at most 1 - p: its area is not that of the others

Planned = Counter[
    tuple[Key, int, str]
]  # points of a curve, by its number of variants and attacker


def scores(
    rows: Sequence[Row], samples: Mapping[Row, Floats], planned: Planned | None = None
) -> tuple[Score, ...]:
    """Return the score of each curve, and how far it lies behind the best one of its plane.

    Parameters
    ----------
    samples
        (n,) the values by query that a row of risk or nDCG@10 is the mean of, in the same order
        of queries for all; nan where a query has none.
    planned
        How many points each curve has when everything is computed.
    """
    found: list[Score] = []
    with one_blas_thread():  # the products are many and small
        for panel in panels(rows):
            if panel.measure not in OFF_SCALE:
                lines = [_Line.of(curve, samples) for curve in panel.curves]
                found += _ranked(lines, [_score(panel, line, planned) for line in lines])
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Line:
    """A curve by query: column j of both arrays (points, n) is the same query."""

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
    def known(self) -> NDArray[np.bool_]:
        """Which queries (n,) are known at every point."""
        return np.asarray(np.isfinite(self.risks + self.utilities).all(axis=0))

    def at(self, queries: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        return self.risks[:, queries], self.utilities[:, queries]


def _score(panel: Panel, line: _Line, planned: Planned | None) -> Score:
    first = line.curve.points[0].risk
    mechanism, parameter, spec = key(first)
    points = len(line.curve.points)
    wanted = planned[key(first), first.size, panel.attacker] if planned is not None else points
    made = Score(
        panel.collection, panel.engine, panel.attacker, panel.measure, line.curve.name, mechanism,
        spec, parameter, first.size, math.nan, math.nan, math.nan, 0, points, wanted - points,
    )  # fmt: skip
    if not line.known.any():
        return made
    found = quipu_interval(*line.at(line.known))
    return replace(made, score=float(found), low=found.low, high=found.high, n=found.n)


def _ranked(lines: Sequence[_Line], made: Sequence[Score]) -> list[Score]:
    """Compare every curve of more than one point with the best of them, on the same queries."""
    ranked = [i for i, one in enumerate(made) if one.points > 1 and one.n]
    if not ranked:
        return list(made)
    best = lines[max(ranked, key=lambda i: made[i].score)]
    return [
        _behind(best, line, one) if i in ranked else one
        for i, (line, one) in enumerate(zip(lines, made, strict=True))
    ]


def _behind(best: _Line, line: _Line, made: Score) -> Score:
    both = best.known & line.known
    if not both.any():
        return made
    gap = quipu_difference(*best.at(both), *line.at(both))
    return replace(made, behind=float(gap), behind_low=gap.low, behind_high=gap.high)
