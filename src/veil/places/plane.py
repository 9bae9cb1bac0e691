"""Place methods on the risk-utility plane, also one method at several strengths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veil.core.errors import ParameterError
from veil.core.rng import Randomness, generator
from veil.measures.estimate import Estimate
from veil.measures.quipu import quipu
from veil.places.attack import attack
from veil.places.attacker import Attack, risk
from veil.places.attacks import ATTACKS
from veil.places.measures import utility
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import MECHANISMS
from veil.places.mechanisms import mechanism as method_of
from veil.places.points import Points
from veil.places.projection import distance
from veil.places.protect import protect

METRES = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500)


def ladder(name: str) -> list[str]:
    """Return the presets of a mechanism, each farther than the last.

    >>> ladder("donut")[:2]
    ['donut(low=0.5, high=5)', 'donut(low=1, high=10)']
    """
    presets = MECHANISMS.get(name).presets
    if presets is None:
        raise ParameterError(f"The mechanism {name} has no presets; name its parameters.")
    return [presets(metres) for metres in METRES]


class PlanePoint(NamedTuple):
    """One method on the plane: the share of points identified, and the utility."""

    spec: str
    risk: Estimate
    utility: Estimate


@dataclass(frozen=True)
class Plane:
    """Methods on the plane, in the order in which they were named, and their QuIPU score.

    The score takes the spots in order of how far they moved the points on average, the farthest
    first: that is from the most private to the most useful, whatever the parameters are called.
    """

    rows: tuple[PlanePoint, ...]
    quipu: float

    def __iter__(self) -> Iterator[PlanePoint]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> PlanePoint:
        return self.rows[number]


def plane(
    pts: Points,
    specs: Sequence[str | Mechanism],
    register: Points,
    attacker: str | Attack = "bayes",
    guesses: int = 1,
    rng: Randomness = None,
    *,
    population: Points | None = None,
) -> Plane:
    """Protect points by each method, attack the releases, and measure what they are worth.

    Parameters
    ----------
    specs
        Methods, by their specs.
    register
        Addresses that the attacker guesses from.
    attacker, guesses
        Who attacks, and how many guesses it has for each point. It knows the method.
    population
        For methods that need one; the register if nothing is told.
    """
    if isinstance(specs, str) or not len(specs):
        raise ParameterError("A plane needs a list of methods; name at least one spec.")
    by = ATTACKS.parse(attacker) if isinstance(attacker, str) else attacker
    draws = generator(rng)
    people = register if population is None else population
    rows, moved = [], []
    for spec in map(method_of, specs):
        release = protect(pts, spec, population=people, rng=draws)
        law = spec if spec.lawful or by.name == "bayes" else None
        found = attack(release, pts, register, by, law, population=people)
        rows.append(PlanePoint(str(spec), risk(found, guesses), utility(pts, release).score))
        moved.append(float(distance(release.xy[0], pts.xy, pts.crs).mean()))
    order = np.argsort(moved, kind="stable")[::-1]
    score = quipu([float(rows[i].risk) for i in order], [float(rows[i].utility) for i in order])
    return Plane(tuple(rows), score)
