"""The risk-utility plane: one point per configuration, and the score of its curves.

The QuIPU score of a curve takes its points from the most private to the most useful. A curve is a
mechanism whose points differ in one number, so that the direction that this parameter declares
gives the order. Other points have no common parameter and are taken in the order of their risk.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.estimate import Estimate
from veil.core.guarantee import Guarantee
from veil.data.files import require_folder, whole_file
from veil.drawing import plane as drawing
from veil.drawing.axes import Curve, Point, short
from veil.drawing.markup import join, number, percent, tag
from veil.measures.quipu import quipu

NOTHING = "no protection"


class PlanePoint(NamedTuple):
    """One configuration on the plane.

    Attributes
    ----------
    spec
        The mechanism.
    risk, utility
        Mean with its 95 % interval over the units of the domain. For a single figure per release,
        the interval is over repeated draws, or empty for one draw.
    value
        Value of the swept parameter; 0 without one.
    worst
        The highest risk of a single unit; nan if unknown.
    removed
        Share of the units that are not in the release.
    guarantee
        The guarantee of one release, as text.
    asked
        Number of questions by the attacker; 0 for attacks without questions.
    cost
        The total cost for one unit of everything the attacker saw.
    """

    spec: str
    risk: Estimate
    utility: Estimate
    value: float = 0.0
    worst: float = math.nan
    removed: float = 0.0
    guarantee: str = ""
    asked: int = 0
    cost: Guarantee = Guarantee("none")


_UNKNOWN = Estimate(math.nan, math.nan, math.nan, 0)
UNATTACKED = PlanePoint(NOTHING, _UNKNOWN, _UNKNOWN)


class Utilities(tuple[Estimate, ...]):
    """Utility of each point, which also equals the name of its measure.

    `Plane.utility` of a table was that name in the last release. Remove in 0.4.
    """

    measure: str

    def __new__(cls, values: Sequence[Estimate], measure: str) -> "Utilities":
        """Keep values and the name of their measure."""
        utilities = super().__new__(cls, values)
        utilities.measure = measure
        return utilities

    def __eq__(self, other: object) -> bool:
        return self.measure == other if isinstance(other, str) else tuple.__eq__(self, other)

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __str__(self) -> str:
        return self.measure


@dataclass(frozen=True)
class Plane:
    """Configurations on the plane, in the order of the arguments.

    Attributes
    ----------
    rows
        One point per configuration.
    quipu
        The QuIPU score of all points: of the curve if they are one, else in the order of risk.
    scores
        The QuIPU score of each curve, by its name.
    plain
        The same work without protection; `UNATTACKED` where nobody attacks that.
    attacker, measure, recommender
        Who attacks, how utility is measured, and what is learnt from a release.
    name, subjects
        Name of the data, and what is protected: "records", "households".
    lines
        Positions of the points of each curve, from the most private.
    """

    rows: tuple[PlanePoint, ...]
    quipu: float
    scores: Mapping[str, float] = field(default_factory=dict)
    plain: PlanePoint = UNATTACKED
    attacker: str = ""
    measure: str = ""
    recommender: str = ""
    name: str = "data"
    subjects: str = "records"
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: Sequence[PlanePoint],
        mechanisms: Sequence[Component],
        parameter: str = "",
        **labels: Any,  # noqa: ANN401 - the other fields
    ) -> "Plane":
        """Return the plane of points and of the mechanism of each, with all scores.

        `parameter` is the only parameter in which the mechanisms differ, if there is one.
        """
        if parameter:
            whole = by_privacy(mechanisms, range(len(mechanisms)), parameter)
            lines = {f"{mechanisms[0].name}({parameter})": whole}
        else:
            lines = curves(mechanisms)
        scores = {name: _score([rows[at] for at in line]) for name, line in lines.items()}
        by_risk = sorted(rows, key=lambda point: (float(point.risk), float(point.utility)))
        score = next(iter(scores.values())) if len(scores) == 1 else _score(by_risk)
        return cls(tuple(rows), score, scores, lines=lines, **labels)

    @property
    def risk(self) -> tuple[Estimate, ...]:
        """Risk of each point."""
        return tuple(point.risk for point in self.rows)

    @property
    def utility(self) -> Utilities:
        """Utility of each point."""
        return Utilities([point.utility for point in self.rows], self.measure)

    def __iter__(self) -> Iterator[PlanePoint]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> PlanePoint:
        return self.rows[number]

    def to_html(self, path: str | Path) -> None:
        """Draw the plane as a page, written whole or not at all."""
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise InputError("The file of a plane must end in .html.")
        require_folder(target)
        best = max(self.rows, key=lambda point: float(point.utility) - float(point.risk)).spec
        lead = "The mechanism with the largest difference of utility and risk is "
        summary = [join(lead, tag("strong", best), ".")]
        if self.plain is not UNATTACKED:
            risk = percent(float(self.plain.risk))
            summary.insert(
                0, join(f"Published unprotected, {risk} of the {self.subjects} are found.")
            )
        with whole_file(target, private=True) as part:
            part.write_text(drawing.page(self._drawing(), summary), encoding="utf-8")

    def to_text(self) -> str:
        """Return the plane as a small plot for a terminal."""
        return drawing.text(self._drawing())

    def _repr_html_(self) -> str:
        """Draw the plane in a notebook."""
        return drawing.html(self._drawing())

    def _drawing(self) -> drawing.Plane:
        """Return the points as numbers and labels; the data without protection are a point."""
        lines = self.lines or {point.spec: [at] for at, point in enumerate(self.rows)}
        curves = {name: [self.rows[at] for at in line] for name, line in lines.items()}
        if self.plain is not UNATTACKED:
            curves[NOTHING] = [self.plain]
        return drawing.Plane(
            f"{self.name}: risk against {self.attacker}, and utility by {self.measure}",
            tuple(
                Curve(name, tuple(map(_drawn_point, points)), style)
                for style, (name, points) in enumerate(curves.items())
            ),
            self.measure,
            scores={**self.scores, "all of them": self.quipu},
        )


def _drawn_point(point: PlanePoint) -> Point:
    facts = {} if math.isnan(point.worst) else {"worst": number(point.worst)}
    facts |= {"removed": percent(point.removed)} if point.removed else {}
    facts |= {"proved": point.guarantee} if point.guarantee else {}
    label = short(point.value) if point.value else ""
    risk, utility = drawing.figure_of(point.risk), drawing.figure_of(point.utility)
    return drawing.place(point.spec, risk, utility, label=label, facts=facts)


def curves(mechanisms: Sequence[Component]) -> dict[str, list[int]]:
    """Return the positions of mechanisms that differ in one number, the most private first.

    >>> from veil.tables.mechanisms import mechanism
    >>> curves([mechanism(spec) for spec in ("mdav(k=3)", "noise(scale=0.2)", "mdav(k=10)")])
    {'mdav(k)': [2, 0], 'noise(scale=0.2)': [1]}
    """
    remaining, lines = list(range(len(mechanisms))), dict[str, list[int]]()
    while remaining:
        first = mechanisms[remaining[0]]
        family = [at for at in remaining if type(mechanisms[at]) is type(first)]
        swept = [
            key
            for key, value in first
            if any(getattr(mechanisms[at], key) != value for at in family)
        ]
        numbers = [getattr(mechanisms[at], swept[0]) for at in family] if len(swept) == 1 else []
        if len(family) > 1 and numbers and all(isinstance(n, int | float) for n in numbers):
            lines[f"{first.name}({swept[0]})"] = by_privacy(mechanisms, family, swept[0])
            remaining = [at for at in remaining if at not in family]
        else:
            lines[first.brief] = [remaining.pop(0)]
    return lines


def by_privacy(
    mechanisms: Sequence[Component], positions: Sequence[int], parameter: str
) -> list[int]:
    """Return positions in the order of a parameter, from the most private value."""
    values = np.array([float(getattr(mechanisms[at], parameter)) for at in positions])
    order = np.argsort(values, kind="stable")
    if type(mechanisms[positions[0]]).direction(parameter) == "private":
        order = order[::-1]
    return [positions[at] for at in order.tolist()]


def _score(points: Sequence[PlanePoint]) -> float:
    risks, utilities = zip(*((float(row.risk), float(row.utility)) for row in points), strict=True)
    return quipu(risks, utilities)
