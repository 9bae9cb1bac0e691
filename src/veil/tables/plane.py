"""Place methods on the risk-utility plane: protect, attack, measure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from veil.core.errors import ParameterError
from veil.core.rng import Randomness, generator
from veil.measures.estimate import Estimate, bootstrap
from veil.measures.quipu import quipu
from veil.tables.attack import attack
from veil.tables.attacks import attacker as attacker_of
from veil.tables.attacks.scene import Attack
from veil.tables.measures.pair import Pair
from veil.tables.measures.utility import UTILITIES, Utility
from veil.tables.mechanism import Mechanism, protect
from veil.tables.mechanisms import mechanism as method_of
from veil.tables.table import Table

NOTHING = "no protection"


class PlanePoint(NamedTuple):
    """One method on the plane.

    Attributes
    ----------
    spec
        What protected.
    risk, utility
        Each with its interval; of several draws that of the mean over them.
    worst
        The highest risk of a single record.
    removed
        The share of the rows that are not in the release.
    guarantee
        What is proved.
    """

    spec: str
    risk: Estimate
    utility: Estimate
    worst: float
    removed: float = 0.0
    guarantee: str = ""


@dataclass(frozen=True)
class Plane:
    """Methods on the plane, in the order in which they were named.

    Attributes
    ----------
    rows
        One of each method.
    scores
        The QuIPU score of each curve, by its name: methods that differ in one number, from the
        most private to the most useful.
    quipu
        That of all of them: of one curve its own, else of all in the order of their risk.
    plain
        The table itself, as if it were released.
    attacker, utility
        Who attacked, and what utility is.
    """

    rows: tuple[PlanePoint, ...]
    scores: Mapping[str, float]
    quipu: float
    plain: PlanePoint
    attacker: str
    utility: str
    name: str = field(default="table")

    def __iter__(self) -> Iterator[PlanePoint]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> PlanePoint:
        return self.rows[number]

    def to_html(self, path: str | Path) -> None:
        """Draw it as a page of its own, whole or not at all."""
        from veil.tables.pictures import write_plane

        write_plane(self, Path(path))


def plane(
    t: Table,
    specs: Sequence[str | Mechanism],
    attacker: str | Attack = "linkage",
    utility: str | Utility = "marginals",
    rng: Randomness = None,
    *,
    times: int = 1,
    population: Table | float | None = None,
    control: Table | None = None,
) -> Plane:
    """Protect a table by each method, attack the releases, and measure what they are worth.

    Parameters
    ----------
    t
        The table, with its roles.
    specs
        Methods, by their specs.
    attacker, utility
        Who attacks, and what utility is: see `attack` and `utility`.
    times
        How often each method that draws is drawn; risk and utility are means over the draws.
    population, control
        For attackers that need them.
    """
    if isinstance(specs, str) or not len(specs):
        raise ParameterError("A plane needs a list of methods; name at least one spec.")
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise ParameterError("The 'times' argument must be a whole number >= 1.")
    scene = _Scene(
        t,
        attacker_of(attacker),
        UTILITIES.parse(utility) if isinstance(utility, str) else utility,
        population,
        control,
        generator(rng),
    )
    methods = [method_of(spec) for spec in specs]
    rows = tuple(scene.spot(method, times if method.random else 1) for method in methods)
    scores = {name: _score([rows[i] for i in places]) for name, places in curves(methods).items()}
    by_risk = sorted(rows, key=lambda row: (float(row.risk), float(row.utility)))
    whole = next(iter(scores.values())) if len(scores) == 1 else _score(by_risk)
    plain = scene.plain()
    return Plane(rows, scores, whole, plain, scene.by.brief, scene.measure.brief, t.name)


@dataclass(frozen=True, eq=False)
class _Scene:
    table: Table
    by: Attack
    measure: Utility
    population: Table | float | None
    control: Table | None
    rng: Generator

    def spot(self, method: Mechanism, times: int) -> PlanePoint:
        risks, worths, worst = [], [], 0.0
        for _ in range(times):
            release = protect(self.table, method, rng=self.rng)
            found = attack(
                self.table, release, self.by, self.population, self.control, rng=self.rng
            )
            risks.append(Estimate(found.risk, found.low, found.high, len(found.per_record)))
            worths.append(self.measure.score(Pair.of(self.table, release)))
            worst = max(worst, float(found.per_record.max(initial=0.0)))
        removed = 0.0 if release.rows is None else 1 - len(release) / len(self.table)
        claim = str(release.guarantee)
        return PlanePoint(
            _short(method), _mean(risks), _mean(worths), worst, max(0.0, removed), claim
        )

    def plain(self) -> PlanePoint:
        """Attack the table itself, without its identifiers."""
        bare = self.table.without(self.table.of_role("identifier"))
        found = attack(self.table, bare, self.by, self.population, self.control, rng=self.rng)
        risk = Estimate(found.risk, found.low, found.high, len(found.per_record))
        worst = float(found.per_record.max(initial=0.0))
        return PlanePoint(NOTHING, risk, Estimate(1.0, 1.0, 1.0, 1), worst)


def _short(method: Mechanism) -> str:
    """Return a spec without the parameters that have their default, unless all have it."""
    return method.brief if "(" in method.brief else str(method)


def _mean(values: Sequence[float]) -> Estimate:
    if len(values) > 1:
        return bootstrap([float(value) for value in values])
    only = values[0]
    return only if isinstance(only, Estimate) else Estimate(only, only, only, 1)


def curves(methods: Sequence[Mechanism]) -> dict[str, list[int]]:
    """Put methods that differ in one number together, the most private first.

    >>> from veil.tables.mechanisms import mechanism
    >>> curves([mechanism(spec) for spec in ("mdav(k=3)", "noise(scale=0.2)", "mdav(k=10)")])
    {'mdav(k)': [2, 0], 'noise(scale=0.2)': [1]}
    """
    left, made = list(range(len(methods))), {}
    while left:
        first = methods[left[0]]
        alike = [i for i in left if type(methods[i]) is type(first)]
        swept = [
            key for key, value in first if any(getattr(methods[i], key) != value for i in alike)
        ]
        numbers = [getattr(methods[i], swept[0]) for i in alike] if len(swept) == 1 else []
        if len(alike) > 1 and numbers and all(isinstance(one, int | float) for one in numbers):
            order = np.argsort(numbers, kind="stable")
            if type(first).direction(swept[0]) == "private":
                order = order[::-1]
            made[f"{first.name}({swept[0]})"] = [alike[i] for i in order]
            left = [i for i in left if i not in alike]
        else:
            made[first.brief] = [left.pop(0)]
    return made


def _score(rows: Sequence[PlanePoint]) -> float:
    return quipu([float(row.risk) for row in rows], [float(row.utility) for row in rows])
