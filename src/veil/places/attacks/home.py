"""Find the home of a user from the nights of a trace."""

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

LEAST = 5  # fixes at night; users with fewer are left out
FIXES = 150  # fixes at night that the matched filter uses
STEP, REACH = 50.0, 500.0  # metres between its nodes, and from a fix to its nodes


class _Home(Attack):
    r"""Find the home of each user from the fixes of the night.

    The guess is the mean of the fixes in the densest cell at night. An attacker who knows the
    mechanism uses the matched filter instead, over the nodes y of a lattice of 50 m within 500 m
    of a fix:

    .. math:: \arg\max_y \sum_j f(z_j \mid y)

    It finds homes that a ring around each fix hides from the densest cell. A user is identified if
    the guess is within `radius` of the home in the densest cell of the true trace. Users with
    fewer than 5 fixes at night are left out, and counted. The attack uses all releases. Hours are
    local standard time with a fixed `utc_offset`, without summer time.
    """

    name: ClassVar[str] = "home"

    utc_offset: Annotated[
        float, Field(ge=-14, le=14, description="hours to add to GMT", examples=[8])
    ]

    def run(self, scene: Scene, truth: Truth) -> Outcome:
        """Compare the homes in the release with those in the true trace."""
        flat = Flat.around(scene.releases[0], scene.on.crs)
        released, true = flat.metres(scene.releases), flat.metres(truth.points.xy)
        right: list[bool] = []
        omitted = 0
        for fixes in self._nights(scene):
            if len(fixes) < LEAST:
                omitted += 1
                continue
            guess = self._guess(released[:, fixes], scene.method)
            home = densest(true[fixes], self._of("cell"))
            right.append(bool(np.hypot(*(guess - home)) <= self._of("radius")))
        if not right:
            raise InputError(
                f"No user has {LEAST} fixes at night. Check the offset to GMT and the hours."
            )
        return single_guess(np.array(right), len(right), omitted)  # among all users' homes

    def _of(self, parameter: str) -> float:
        return float(getattr(self, parameter))

    def _nights(self, scene: Scene) -> Iterator[Ids]:
        """Yield the rows of each user at night, in the order of time."""
        if scene.users is None or scene.times is None:
            raise InputError("The attacker home needs points with users and times.")
        night = at_night(scene.times, self.utc_offset, self._of("from"), self._of("to"))
        for user in np.unique(scene.users):
            rows = np.flatnonzero((scene.users == user) & night)
            yield rows[np.argsort(scene.times[rows], kind="stable")]

    def _guess(self, fixes: Floats, method: Mechanism | None) -> Floats:
        """Return the guessed home (2,) from the fixes (m, f, 2) of a user."""
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
# 'from' is a keyword, so it cannot be a field of a class statement
Home = create_model("Home", __base__=_Home, __doc__=_Home.__doc__, __module__=__name__, **_FIELDS)


def at_night(times: Floats, offset: float, start: float, end: float) -> NDArray[np.bool_]:
    """Return whether times (n,), in seconds of GMT, are at night for an `offset` in hours.

    >>> at_night(np.array([15.0, 12.0, 23.9]) * 3600, 8, 22, 6).tolist()
    [True, False, False]
    """
    hours = (times / 3600 + offset) % 24
    if start <= end:
        return np.asarray((hours >= start) & (hours < end))
    return np.asarray((hours >= start) | (hours < end))


def densest(fixes: Floats, cell: float) -> Floats:
    """Return the mean (2,) of the fixes (f, 2) in the cell with the most fixes."""
    cells = np.floor(fixes / cell).astype(np.int64)
    _, owner, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(fixes[owner.ravel() == counts.argmax()].mean(axis=0))


def densest_node(fixes: Floats, method: Mechanism) -> Floats:
    """Return the node (2,) near fixes (f, 2) with the largest sum of their densities."""
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
    nodes: set[tuple[int, int]] = set()
    for fix in fixes:
        near = np.round(fix / STEP).astype(np.int64) + around
        away = np.hypot(*(near * STEP - fix).T)
        nodes.update((x, y) for x, y in near[away <= REACH].tolist())
    return np.array(sorted(nodes), dtype=np.float64) * STEP
