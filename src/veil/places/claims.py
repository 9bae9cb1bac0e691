r"""Hold the epsilon that a method claims against samples.

For two places x, x' and any set E of outputs the claim is
:math:`\ln \Pr[E|x] - \ln \Pr[E|x'] \le \varepsilon d(x, x')`. The audit draws from the method at
two places that are 1/epsilon metres apart, chooses E, all z with d(z, x') - d(z, x) above a bound,
on one half of the samples, and bounds both probabilities on the other half (Clopper and Pearson).
What comes of it is, but for a stated chance of error, a lower bound on the true loss: above the
claim it refutes it. Below it proves nothing: a fault may hide from the samples.

References
----------
Ding, Wang, Wang, Zhang, Kifer. Detecting Violations of Differential Privacy. CCS 2018.
doi:10.1145/3243734.3243818
"""

import math
from dataclasses import dataclass

import numpy as np

from veil.core.errors import ParameterError
from veil.core.rng import Randomness, generator
from veil.core.types import Floats
from veil.measures.bounds import proved_log_ratio, rough_log_ratios
from veil.places.crs import check_crs
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import mechanism as named
from veil.places.projection import Surface, surface

_FEWEST = 1_000
_DIRECTIONS = 2
_THRESHOLDS = 200


@dataclass(frozen=True)
class PlaceAudit:
    """What was found: the loss is at least `lower`, and `claimed` to be at most that."""

    method: str
    claimed: float
    lower: float
    metres: float
    samples: int
    error: float

    @property
    def exceeded(self) -> bool:
        """Whether the samples refute the claim."""
        return self.lower > self.claimed

    def __str__(self) -> str:
        verdict = "REFUTED" if self.exceeded else "not refuted"
        return (
            f"{self.method}: measured >= {self.lower:.3f}, claimed {self.claimed:.3f}: {verdict}"
        )


def audit_claim(
    method: str | Mechanism,
    crs: str | None = None,
    *,
    samples: int = 100_000,
    error: float = 1e-6,
    rng: Randomness = None,
) -> PlaceAudit:
    """Draw from a method at two places 1/epsilon apart, and hold what it claims against that.

    `error` is the largest chance that a correct method is accused.
    """
    if samples < _FEWEST or not 0 < error < 1:
        raise ParameterError(f"An audit needs {_FEWEST:,} samples or more, and 0 < error < 1.")
    chosen, on, draws = named(method), surface(check_crs(crs)), generator(rng)
    promise = chosen.promise(on)
    if promise.kind != "metric-dp":
        raise ParameterError(f"Nothing is claimed of {chosen.name}; there is nothing to audit.")
    metres = 1 / promise.epsilon
    here = np.zeros((1, 2))
    homes = [here, on.move(here, np.array([metres]), np.array([math.pi / 2]))]
    drawn = [chosen.draw(np.repeat(home, samples, axis=0), on, draws) for home in homes]
    seen = [_nearer(released, homes, on) for released in drawn]
    share = error / (2 * _DIRECTIONS)
    lower = max(_loss(seen[0], seen[1], share), _loss(-seen[1], -seen[0], share))
    return PlaceAudit(str(chosen), promise.bound(metres), lower, metres, samples, error)


def _nearer(released: Floats, homes: list[Floats], on: Surface) -> Floats:
    """Return how many metres (n,) outputs are nearer to the first place than to the second."""
    first, second = (on.seen(home, released)[0] for home in homes)
    return second - first


def _loss(one: Floats, other: Floats, share: float) -> float:
    """Choose a threshold on the first halves, and bound the log-ratio above it on the second."""
    half = len(one) // 2
    bounds = np.quantile(np.concatenate([one[:half], other[:half]]), _steps())
    more, less = (
        half - np.searchsorted(np.sort(seen[:half]), bounds, side="left") for seen in (one, other)
    )
    best = bounds[np.argmax(rough_log_ratios(more, less, half, share))]
    trials = len(one) - half
    hits = (int((one[half:] >= best).sum()), int((other[half:] >= best).sum()))
    return proved_log_ratio(hits, trials, share)


def _steps() -> Floats:
    return np.arange(1, _THRESHOLDS) / _THRESHOLDS
