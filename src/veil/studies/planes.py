"""The scores of a study: every curve of every plane, and each point against no protection."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veil.core.parallel import one_blas_thread
from veil.core.types import Floats
from veil.measures.estimate import p_values
from veil.measures.quipu import quipu_difference, quipu_interval
from veil.studies.curves import Curve, Key, Panel, is_utility, key, panels
from veil.studies.domains import words_of
from veil.studies.table import PLAIN, Row, Score

Planned = Counter[
    tuple[Key, int, str]
]  # points of a curve, by its number of releases and attacker


def scores(
    rows: Sequence[Row], samples: Mapping[Row, Floats], planned: Planned | None = None
) -> tuple[Score, ...]:
    """Return the score of each curve, and how far it lies behind the best one of its plane.

    Parameters
    ----------
    samples
        (n,) the values by subject that a row of risk or utility is the mean of, in the same order
        of subjects for all; nan where a subject has none.
    planned
        How many points each curve has when everything is computed.
    """
    found: list[Score] = []
    with one_blas_thread():  # the products are many and small
        for panel in panels(rows):
            if words_of(panel.domain).axis(panel.measure).scored:
                lines = [_Line.of(curve, samples) for curve in panel.curves]
                found += _ranked(lines, [_score(panel, line, planned) for line in lines])
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Line:
    """A curve by subject: column j of both arrays (points, n) is the same one."""

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
        """Which subjects (n,) are known at every point."""
        return np.asarray(np.isfinite(self.risks + self.utilities).all(axis=0))

    def at(self, subjects: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        return self.risks[:, subjects], self.utilities[:, subjects]


def _score(panel: Panel, line: _Line, planned: Planned | None) -> Score:
    first = line.curve.points[0].risk
    mechanism, parameter, spec = key(first)
    points = len(line.curve.points)
    wanted = planned[key(first), first.size, panel.attacker] if planned is not None else points
    made = Score(
        panel.data, panel.task, panel.attacker, panel.measure, line.curve.name, mechanism,
        spec, parameter, first.size, math.nan, math.nan, math.nan, 0, points, wanted - points,
        domain=panel.domain,
    )  # fmt: skip
    if not line.known.any():
        return made
    found = quipu_interval(*line.at(line.known))
    return replace(made, score=float(found), low=found.low, high=found.high, n=found.n)


def _ranked(lines: Sequence[_Line], made: Sequence[Score]) -> list[Score]:
    """Compare every curve of more than one point with the best of them, on the same subjects."""
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


def compared(rows: Sequence[Row], samples: Mapping[Row, Floats]) -> tuple[Row, ...]:
    """Give each utility its p-value against no protection for the same task, where that is known.

    The test is paired: the same subjects, by a random choice of signs of their differences.
    """
    found: dict[Row, float] = {}
    for plain in rows:
        if plain.mechanism == PLAIN and is_utility(plain):
            place = (plain.data, plain.task)
            others = [
                row
                for row in filter(is_utility, rows)
                if row.mechanism != PLAIN and (row.data, row.task) == place
            ]
            found |= _against(samples[plain], others, samples)
    return tuple(replace(row, p_value=found[row]) if row in found else row for row in rows)


def _against(
    plain: Floats, others: Sequence[Row], samples: Mapping[Row, Floats]
) -> dict[Row, float]:
    gaps = {row: samples[row] - plain for row in others}
    known = {row: gap for row, gap in gaps.items() if np.isfinite(gap).any()}
    if not known:
        return {}
    values = p_values(np.stack(list(known.values())))
    return dict(zip(known, values.tolist(), strict=True))
