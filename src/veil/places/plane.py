"""The risk-utility plane of place mechanisms, with presets for several strengths of each."""

from collections.abc import Sequence

from veil import studies
from veil.core.errors import ParameterError
from veil.core.rng import Randomness
from veil.measures.plane import Plane as Plane
from veil.measures.plane import PlanePoint as PlanePoint
from veil.places.attack import Attack
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import MECHANISMS
from veil.places.points import Points
from veil.places.study import Places, PlacesMaterial, within

METRES = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500)


def ladder(name: str) -> list[str]:
    """Return the presets of a mechanism, in increasing order of distance.

    >>> ladder("donut")[:2]
    ['donut(low=0.5, high=5)', 'donut(low=1, high=10)']
    """
    presets = MECHANISMS.get(name).presets
    if presets is None:
        raise ParameterError(f"The mechanism {name} has no presets. Name its parameters.")
    return [presets(metres) for metres in METRES]


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
    """Return the risk and utility of each mechanism on these points.

    Parameters
    ----------
    specs
        Mechanisms, or their specs.
    register
        Addresses that the attacker guesses from.
    attacker, guesses
        The attack, which knows the mechanism, and its number of guesses for each point.
    population
        For mechanisms that need one; the register by default.
    """
    if isinstance(guesses, bool) or not isinstance(guesses, int) or guesses < 1:
        raise ParameterError("The 'guesses' must be an integer >= 1.")
    people = register if population is None else population
    allowed = None if guesses in (1, 10) else guesses  # 1 and 10 are always measured
    material = PlacesMaterial("points", pts, register, people, allowed)
    experiment = Places.of(material, rng, within="")
    return studies.plane(experiment, specs, [attacker], measure=within(guesses))
