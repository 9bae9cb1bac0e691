"""Release a trace, and repeat what was released while it is near enough."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.places.method import Method
from veil.places.methods.laplace import Laplace, bounded
from veil.places.points import Points
from veil.places.projection import Plane, Surface
from veil.places.release import Steps
from veil.places.traces import trails


class Predictive(Method):
    r"""Release fixes of a trace by planar Laplace, unless the last release is still good enough.

    With eps_t = test * epsilon and eps_n = epsilon - eps_t, the last released point p of the user
    is released again if

    .. math:: d(x, p) + \mathrm{Lap}(1/\varepsilon_t) \le threshold

    (cost eps_t); else noise of eps_n is added (cost epsilon). Proved: d(., p) changes by no more
    than x does, so that either branch is metric DP with the cost said, and the cost of a trace is
    at most epsilon times its fixes. The first fix has no test.

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
        AfterValidator(bounded),
    ] = 1.0

    @property
    def noise(self) -> Laplace:
        """What a fix goes through that is not predicted."""
        return Laplace(epsilon=(1 - self.test) * self.epsilon, grid=self.grid)

    @property
    def guarantee(self) -> Guarantee:
        """Metric DP of one fix, if it is the costlier one."""
        return self.promise(Plane())

    def promise(self, on: Surface) -> Guarantee:
        """Add the test to the noise."""
        noise = self.noise.promise(on)
        epsilon = noise.epsilon + self.test * self.epsilon
        told = "The noise of the test is drawn as a real number."
        return Guarantee("metric-dp", epsilon, noise.metric, noise.unit, noise.caveat).with_caveat(
            told
        )

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Move points that belong to nobody's trace: each is a first fix."""
        return self.noise.draw(xy, on, rng, population)

    def follow(self, points: Points, on: Surface, rng: Generator) -> tuple[Floats, Steps]:
        """Release the fixes of all users in the order of time."""
        rows = list(trails(points))
        first = np.array([trail[0] for trail in rows])
        moved = self.noise.draw(points.xy, on, rng)  # used where a fix is a hard one
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
        there: Floats,
        moved: Floats,
        tests: Floats,
        easy: np.ndarray[tuple[int], np.dtype[np.bool_]],
        on: Surface,
    ) -> None:
        """Go through the fixes of a user; `there` and `moved` become what is released."""
        at = 0  # position of the last hard fix: what it released stands until the next one
        while at < len(trail):
            rest, prediction = trail[at + 1 :], trail[at]
            step = 0
            while step < len(rest):  # look at more and more fixes at once
                ahead = rest[step : step + max(16, step)]
                apart = on.metres(np.sqrt(((here[ahead] - there[prediction]) ** 2).sum(axis=1)))
                hard = np.flatnonzero(apart + tests[ahead] > self.threshold)
                near = ahead[: hard[0]] if len(hard) else ahead
                moved[near], there[near], easy[near] = moved[prediction], there[prediction], True
                step += len(near)
                if len(hard):
                    break
            at += 1 + step
