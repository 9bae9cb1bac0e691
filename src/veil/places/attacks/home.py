"""Where somebody lives: the place of the nights of a trace."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, create_model

from veil.core.errors import InputError
from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.places.attack import Attack, Scene, Truth, single_guess
from veil.places.mechanism import Mechanism
from veil.places.projection import Flat, Plane

LEAST = 5  # fixes of the night, or a user is left out
FIXES = 150  # of the night that the matched filter looks at
STEP, REACH = 50.0, 500.0  # metres: of its lattice, and around each fix


class _Home(Attack):
    r"""Find the home of each user from the fixes of the night.

    The densest cell of the nights, and the mean of the fixes in it. Who knows the method takes the
    matched filter instead, over the nodes y of a lattice of 50 m that are within 500 m of a fix:

    .. math:: \arg\max_y \sum_j f(z_j \mid y)

    A user is identified if the home found is within `radius` of the one that the densest cell of
    the true trace gives. Users with fewer than 5 fixes of the night are left out, and counted.
    Every fix is seen by itself: what a ring around each hides from the densest cell the matched
    filter finds. Of several releases all are seen. Hours go by the sun's clock that `utc_offset`
    tells, without summer time.
    """

    name: ClassVar[str] = "home"

    utc_offset: Annotated[
        float, Field(ge=-14, le=14, description="hours to add to GMT", examples=[8])
    ]

    def run(self, scene: Scene, truth: Truth) -> Outcome:
        """Find the homes in the release and in the truth, and compare them."""
        flat = Flat.around(scene.releases[0], scene.on.crs)
        seen, true = flat.metres(scene.releases), flat.metres(truth.points.xy)
        right: list[bool] = []
        left = 0
        for fixes in self._nights(scene):
            if len(fixes) < LEAST:
                left += 1
                continue
            guess = self._guess(seen[:, fixes], scene.method)
            home = densest(true[fixes], self._of("cell"))
            right.append(bool(np.hypot(*(guess - home)) <= self._of("radius")))
        if not right:
            raise InputError(
                f"No user has {LEAST} fixes of the night; check the offset to GMT and the hours."
            )
        return single_guess(np.array(right), len(right), left)  # among the homes of all users

    def _of(self, parameter: str) -> float:
        return float(getattr(self, parameter))

    def _nights(self, scene: Scene) -> Iterator[Ids]:
        """Yield the rows of the nights of each user, in the order of time."""
        if scene.users is None or scene.times is None:
            raise InputError("The attacker home needs points with users and times.")
        night = at_night(scene.times, self.utc_offset, self._of("from"), self._of("to"))
        for user in np.unique(scene.users):
            rows = np.flatnonzero((scene.users == user) & night)
            yield rows[np.argsort(scene.times[rows], kind="stable")]

    def _guess(self, fixes: Floats, method: Mechanism | None) -> Floats:
        """Return the home (2,) that the fixes (m, f, 2) of one user show."""
        if method is None:
            return densest(fixes.reshape(-1, 2), self._of("cell"))
        if not method.lawful:
            raise method.lawless()
        return densest_node(fixes[:, :FIXES].reshape(-1, 2), method)


_FIELDS: dict[str, Any] = {
    "from": (int, Field(22, ge=0, le=24, description="hour at which the night begins")),
    "to": (int, Field(6, ge=0, le=24, description="hour at which it ends")),
    "cell": (float, Field(100.0, gt=0, description="side of a cell in metres")),
    "radius": (float, Field(200.0, gt=0, description="metres within which a home is found")),
}
# 'from' is a word of the language, and can be no name in a class
Home = create_model("Home", __base__=_Home, __doc__=_Home.__doc__, __module__=__name__, **_FIELDS)


def at_night(times: Floats, offset: float, start: float, end: float) -> NDArray[np.bool_]:
    """Return which times (n,), in seconds of GMT, are at night by a clock `offset` hours ahead.

    >>> at_night(np.array([15.0, 12.0, 23.9]) * 3600, 8, 22, 6).tolist()
    [True, False, False]
    """
    hours = (times / 3600 + offset) % 24
    if start <= end:
        return np.asarray((hours >= start) & (hours < end))
    return np.asarray((hours >= start) | (hours < end))


def densest(fixes: Floats, cell: float) -> Floats:
    """Return the mean (2,) of the fixes (f, 2) in the cell that holds most of them."""
    cells = np.floor(fixes / cell).astype(np.int64)
    _, owner, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(fixes[owner.ravel() == counts.argmax()].mean(axis=0))


def densest_node(fixes: Floats, method: Mechanism) -> Floats:
    """Return the node (2,) near fixes (f, 2) at which their densities sum to most."""
    nodes = _nodes(fixes)
    total = np.zeros(len(nodes))
    for fix in fixes:  # one row of densities at a time
        law = method.log_density(fix[None], nodes, Plane())[0]
        total += np.exp(np.where(np.isposinf(law), 700.0, law))
    return np.asarray(nodes[total.argmax()])


def _nodes(fixes: Floats) -> Floats:
    """Return the nodes (m, 2) of the lattice within reach of any fix."""
    steps = np.arange(-int(REACH // STEP) - 1, int(REACH // STEP) + 2)
    around = np.stack(np.meshgrid(steps, steps), axis=2).reshape(-1, 2)  # (a, 2)
    found: set[tuple[int, int]] = set()
    for fix in fixes:
        near = np.round(fix / STEP).astype(np.int64) + around
        away = np.hypot(*(near * STEP - fix).T)
        found.update((x, y) for x, y in near[away <= REACH].tolist())
    return np.array(sorted(found), dtype=np.float64) * STEP
