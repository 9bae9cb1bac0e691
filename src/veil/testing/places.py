"""Checks of places: mechanisms that move points, attacks, and measures of a map."""

from typing import Any

import numpy as np

from veil import places
from veil.core.errors import LawError
from veil.core.types import Floats
from veil.places.measures import Frame, Measure
from veil.places.mechanism import Mechanism
from veil.places.points import Points
from veil.places.projection import Surface, surface
from veil.places.protect import protect
from veil.places.release import Release
from veil.testing.contract import (
    CANARY,
    SEED,
    Attacking,
    Check,
    Part,
    Protection,
    declarations,
    parameters,
    require,
    share,
)

N, USERS = 160, 4


def town() -> Points:
    """Return the fixes of four users, each around a different home, by day and by night."""
    rng = np.random.default_rng(0)
    homes = np.repeat(rng.uniform(-3_000, 3_000, (USERS, 2)), N // USERS, axis=0)
    return Points(
        homes + rng.normal(0, 60, (N, 2)),
        ids=np.array([f"p{i}" for i in range(N)]),
        users=np.array([f"u{i // (N // USERS)}" for i in range(N)]),
        times=np.arange(N, dtype=np.float64) * 2_160,
    )


def crowd() -> Points:
    """Return a population around the town."""
    return Points(np.random.default_rng(1).uniform(-6_000, 6_000, (4_000, 2)))


def _protect(mechanism: Mechanism, points: Points, rng: Any) -> Release:  # noqa: ANN401
    return protect(points, mechanism, population=crowd(), rng=rng)


def _bad_points() -> list[object]:
    return [CANARY, None, [[0.0, 1.0]] * 2, np.array([[np.nan, 1.0]])]


_MOVING = Protection(lambda _: town(), _protect, _bad_points, lambda release: release.xy)


def keeps_points(mechanism: Mechanism) -> None:
    """Check the shape of a release, and that it names nobody."""
    release = _protect(mechanism, town(), SEED)
    require(release.xy.shape == (1, N, 2), "a release must have a place for each point")
    require(bool(np.isfinite(release.xy).all()), "released places must be finite")
    released = release.points()
    require(
        released.ids is None and released.users is None,
        "released points must have no ids and no users",
    )


def density_of_places(mechanism: Mechanism) -> None:
    """Check the density of a mechanism against metric privacy, if it has both."""
    on: Surface = surface(None)
    promise = mechanism.promise(on)
    if promise.kind != "metric-dp" or not np.isfinite(promise.epsilon):
        return
    places = town().xy
    released = np.asarray(_protect(mechanism, town(), SEED).xy[0])
    try:
        logs = mechanism.log_density(released, places, on, crowd())
    except LawError:
        return
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    with np.errstate(invalid="ignore"):
        lost: Floats = np.abs(logs[:, :, None] - logs[:, None, :]).max(axis=0)
    bound = (promise.epsilon * distances + promise.additive) * (1 + 1e-6) + 1e-6
    require(bool((lost <= bound).all()), "the density must keep the guarantee for any two places")


def compares_maps(measure: Measure) -> None:
    """Check that a measure is 1 of the true map, and from 0 to 1 of another one."""
    true, moved = town().xy, town().xy + np.random.default_rng(3).normal(0, 400, (N, 2))
    frame = Frame.of(true)
    value = measure.value(true, moved, frame)
    require(share(value), "the value of a measure must be from 0 to 1")
    require(measure.value(true, moved, frame) == value, "the same maps must have the same value")
    require(
        bool(np.isclose(measure.value(true, true, frame), 1)), "the true map must have the value 1"
    )


MEASURE: tuple[Check, ...] = (declarations, parameters, compares_maps)
MECHANISM: tuple[Check, ...] = (*_MOVING.checks, keeps_points, density_of_places)


def _attack(attack: Part, original: Points, released: Points) -> Any:  # noqa: ANN401
    return _Scored(places.attack(released, original, original, attack, "laplace(epsilon=0.01)"))


class _Scored:
    """The success of an outcome of places, under the names that the checks use."""

    def __init__(self, outcome: Any) -> None:  # noqa: ANN401
        self.risk = _risk(outcome)
        self.per_record = getattr(outcome, "per_record", None)


def _risk(outcome: Any) -> float:  # noqa: ANN401
    if hasattr(outcome, "risk"):
        return float(outcome.risk)
    return float(places.risk(outcome))


def _other_town(attack: Part) -> Points:
    """Return the same points in another order, so that each row is of another household."""
    del attack
    original = town()
    order = np.roll(np.arange(N), N // USERS + 1)
    return Points(original.xy[order], users=original.users, times=original.times)


_FINDING = Attacking(lambda _: (town(), town()), _attack, _other_town)
ATTACK: tuple[Check, ...] = _FINDING.checks
