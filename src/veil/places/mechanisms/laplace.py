"""Planar Laplace noise (geo-indistinguishability), for points and for traces."""

import math
from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError
from typing_extensions import override

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.places.mechanism import UNIT, Displacement, Mechanism, Radial, special
from veil.places.points import Points, trails
from veil.places.projection import RADIUS, Plane, Surface
from veil.places.release import Steps

_ANGLE = 2 * math.pi * 2.0**-53  # step of the angle: a uniform number has 53 bits
_LONGEST = 74.0  # times 1/epsilon: the largest sum of two exponentials of 53 bits
_REACH = 1e7  # metres from the origin of a plane, with which the rounding of a sum grows
_FAR = 1e6  # metres on the sphere up to which its curvature is counted
LEAST = 2e-5  # epsilon on the sphere


def _slack(epsilon: float, grid: float) -> float:
    """Return the increase of epsilon due to finite precision, inf if it cannot be bounded."""
    if not grid:
        return 0.0
    longest = max(1e5, _LONGEST / epsilon)
    off = longest * _ANGLE / 2 + math.ulp(_REACH + longest) / 2
    steps = grid / (2 * off)
    power = math.sqrt(2) * epsilon * grid
    edge = 2 * math.exp(power) if power < 700 else math.inf
    return math.inf if edge >= steps else math.log1p(2 * edge / (steps - edge)) / grid


def check_grid(grid: float, info: ValidationInfo) -> float:
    """Check that a lattice fits the epsilon of the noise, in fields of mechanisms."""
    epsilon = info.data.get("epsilon", 0.0) * (1 - info.data.get("test", 0.0))
    if epsilon and not math.isfinite(_slack(epsilon, grid)):
        raise PydanticCustomError("grid", "must fit epsilon and the precision of numbers")
    return grid


class Laplace(Radial):
    r"""Add planar Laplace noise, then move to the nearest node of a lattice.

    .. math:: f(z|x) = \frac{\varepsilon^2}{2\pi} e^{-\varepsilon |z - x|}, \qquad
        P(r \le t) = 1 - (1 + \varepsilon t) e^{-\varepsilon t}

    Proved: f(z|x) <= exp(epsilon |x - x'|) f(z|x') for all x, x', z (metric DP under metres). The
    radius is Gamma(2, 1/epsilon), drawn as the sum of two exponentials; that has the same
    distribution as the inverse of the paper, which `displacement.quantile` uses. The lattice is
    anchored at 0 and does not depend on the data, so it costs nothing.

    References
    ----------
    Andrés, Bordenabe, Chatzikokolakis, Palamidessi. Geo-indistinguishability: differential privacy
    for location-based systems. CCS 2013, section 4. doi:10.1145/2508859.2516735

    Notes
    -----
    Finite precision. Angles are multiples of delta = 2 pi 2^-53, so noise of up to r_max metres is
    within r_max delta / 2 of exact real arithmetic. The sum of a coordinate and noise is rounded
    by at most half an ulp of the largest sum; points of a plane with coordinates above 1e7 are
    rejected. So each output is within w = r_max delta / 2 + ulp(1e7 + r_max) / 2 of exact
    arithmetic. The set that is moved to a node, a square of side u, is between the square narrowed
    by w on each side and the square widened by w. With q = u / (2 w) its mass differs by a factor
    of at most 1 +- (2 / q) e^(sqrt(2) epsilon u), because the density changes by at most that
    power within the square. So the log ratio of two places grows by ln((q + 2e)/(q - 2e)), where e
    is that power. For places at least u apart that is 1/u of it per metre, which is added to
    epsilon (7.7e-9 at u = 1, r_max = 1e5, nearly all due to the sum; it falls as 1/u^2). The paper
    has the same form with e^(epsilon u), for angles only. The radius (a sum of two numbers of
    53 bits), its product with sine and cosine, and the rounding by pyproj are idealised.

    On the sphere the noise follows great circles, which stretches the density by (r/R)/sin(r/R).
    The slope of its logarithm up to 1,000 km, 8.2e-9 per metre, is also added to epsilon.
    """

    name: ClassVar[str] = "laplace"
    presets: ClassVar[Callable[[int], str] | None] = lambda metres: (
        f"laplace(epsilon={2 / metres:g})"  # the mean displacement
    )
    family: ClassVar[str] = "Geo-indistinguishability"
    conditioned: ClassVar[bool] = False
    uniforms: ClassVar[int] = 2
    epsilon: Annotated[float, Field(gt=0, description="budget per metre", examples=[0.02])]
    grid: Annotated[
        float,
        Field(
            ge=0,
            description="metres between the nodes of the lattice, 0: none",
            validate_default=True,
        ),
        AfterValidator(check_grid),
    ] = 1.0

    @property
    def slack(self) -> float:
        """The increase of epsilon due to finite precision."""
        return _slack(self.epsilon, self.grid)

    @property
    @override
    def guarantee(self) -> Guarantee:
        return self.promise(Plane())

    def promise(self, on: Surface) -> Guarantee:
        """Return metric DP in metres, including finite precision and the sphere's curvature."""
        epsilon, caveats = self.epsilon + self.slack, [self._precision]
        if on.crs is not None:
            if self.epsilon < LEAST:
                raise ParameterError(
                    f"The 'epsilon' parameter of laplace must be at least {LEAST:g} on the"
                    f" sphere. Got {self.epsilon:g} instead."
                )
            turn = _FAR / RADIUS
            epsilon += turn / (3 * RADIUS) * (1 + 0.1 * turn**2)
            beyond = max((1 + self.epsilon * _FAR) * math.exp(-self.epsilon * _FAR), 1e-300)
            caveats.append(
                "Metres are those of a sphere, up to 0.56 % off WGS84. Its curvature is counted up"
                f" to 1,000 km, which each displacement exceeds with probability {beyond:.1g}."
            )
        return Guarantee("metric-dp", epsilon, on.metric, UNIT, " ".join(caveats))

    @property
    def _precision(self) -> str:
        if not self.grid:
            return "Real numbers are idealised."
        return (
            "The finite precision of angles and of the sum with a coordinate is counted for places"
            f" at least {self.grid:g} m apart; that of distances is idealised."
        )

    @override
    def radii(self, uniform: Floats) -> Floats:
        radii: Floats = -np.log1p(-uniform[:, :2]).sum(axis=1) / self.epsilon
        return radii

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        if on.crs is None and len(xy) and float(np.abs(xy).max()) > _REACH:
            raise InputError(
                "For laplace the points of a plane must be within 10,000 km of its origin, because"
                " numbers are not precise enough beyond. Nothing is released. Shift the origin."
            )
        moved = super().draw(xy, on, rng, population)
        return on.lattice(moved, self.grid) if self.grid else moved

    def log_per_area(self, metres: Floats) -> Floats:
        """Return the density before the lattice."""
        return math.log(self.epsilon**2 / (2 * math.pi)) - self.epsilon * metres

    @property
    def displacement(self) -> Displacement:
        """Moments of the Gamma distance; the lattice moves points by at most grid/sqrt(2)."""
        return Displacement(2 / self.epsilon, math.sqrt(6) / self.epsilon, self._inverse)

    def _inverse(self, p: float) -> float:
        """Invert by the lower branch of Lambert's W."""
        if p in (0, 1):  # at the branch point digits are lost
            return math.inf if p else 0.0
        return float(-(special().lambertw((p - 1) / math.e, -1).real + 1) / self.epsilon)


class Predictive(Mechanism):
    r"""Release fixes of a trace by planar Laplace, unless the last release is still good enough.

    With eps_t = test * epsilon and eps_n = epsilon - eps_t, the last released point p of the user
    is released again if

    .. math:: d(x, p) + \mathrm{Lap}(1/\varepsilon_t) \le threshold

    (cost eps_t); else noise of eps_n is added (cost epsilon). Proved: d(., p) changes by no more
    than x does, so either branch is metric DP with its cost, and the cost of a trace is at most
    epsilon times its fixes. The first fix has no test.

    References
    ----------
    Chatzikokolakis, Palamidessi, Stronati. A predictive differentially-private mechanism for
    mobility traces. PETS 2014. doi:10.1007/978-3-319-08506-7_2 (cited from memory)
    """

    name: ClassVar[str] = "predictive"
    family: ClassVar[str] = "Geo-indistinguishability"
    needs: ClassVar[frozenset[str]] = frozenset({"users"})
    conditioned: ClassVar[bool] = False
    epsilon: Annotated[float, Field(gt=0, description="budget per metre and fix", examples=[0.02])]
    threshold: Annotated[
        float, Field(gt=0, description="metres within which a point is near", examples=[200.0])
    ]
    test: Annotated[
        float, Field(gt=0, lt=1, description="share of the budget that a test takes")
    ] = 0.1
    grid: Annotated[
        float,
        Field(
            ge=0,
            description="metres between the nodes of the lattice, 0: none",
            validate_default=True,
        ),
        AfterValidator(check_grid),
    ] = 1.0

    @property
    def noise(self) -> Laplace:
        """The mechanism of a fix that is not predicted."""
        return Laplace(epsilon=(1 - self.test) * self.epsilon, grid=self.grid)

    @property
    def guarantee(self) -> Guarantee:
        """Metric DP of one fix in the costlier branch."""
        return self.promise(Plane())

    def promise(self, on: Surface) -> Guarantee:
        """Return the guarantee of the noise and the test together."""
        noise = self.noise.promise(on)
        epsilon = noise.epsilon + self.test * self.epsilon
        guarantee = Guarantee("metric-dp", epsilon, noise.metric, noise.unit, noise.caveat)
        return guarantee.with_caveat("The noise of the test is drawn as a real number.")

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        return self.noise.draw(xy, on, rng, population)

    def follow(self, points: Points, on: Surface, rng: Generator) -> tuple[Floats, Steps]:
        """Release the fixes of all users in the order of time."""
        rows = list(trails(points))
        first = np.array([trail[0] for trail in rows])
        moved = self.noise.draw(points.xy, on, rng)  # used for hard steps
        uniform = rng.random(len(points)) - 0.5
        tests = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform)) / (self.test * self.epsilon)
        here, last = on.embed(points.xy), on.embed(moved)
        easy = np.zeros(len(points), dtype=np.bool_)
        for trail in rows:
            self._walk(trail, here, last, moved, tests, easy, on)
        spent = np.where(easy, self.test * self.epsilon, self.epsilon)
        spent[first] = (1 - self.test) * self.epsilon
        worst = max(float(spent[trail].sum()) for trail in rows)
        return moved, Steps(int((~easy).sum()), int(easy.sum()), worst)

    def _walk(
        self,
        trail: Ids,
        here: Floats,
        last: Floats,
        moved: Floats,
        tests: Floats,
        easy: np.ndarray[tuple[int], np.dtype[np.bool_]],
        on: Surface,
    ) -> None:
        """Write the release of a user's fixes to `moved`, and embedded to `last`."""
        at = 0  # position of the last hard step, which is repeated until the next one
        while at < len(trail):
            rest, prediction = trail[at + 1 :], trail[at]
            step = 0
            while step < len(rest):  # test more and more fixes at once
                ahead = rest[step : step + max(16, step)]
                metres = on.metres(np.sqrt(((here[ahead] - last[prediction]) ** 2).sum(axis=1)))
                hard = np.flatnonzero(metres + tests[ahead] > self.threshold)
                near = ahead[: hard[0]] if len(hard) else ahead
                moved[near], last[near], easy[near] = moved[prediction], last[prediction], True
                step += len(near)
                if len(hard):
                    break
            at += 1 + step
