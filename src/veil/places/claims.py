r"""Audit the epsilon that a mechanism claims, by sampling.

For two places x, x' and any set E of outputs the claim is
:math:`\ln \Pr[E|x] - \ln \Pr[E|x'] \le \varepsilon d(x, x')`. The audit samples the mechanism at
two places 1/epsilon metres apart. E is the set of all z with d(z, x') - d(z, x) above a threshold,
which is chosen on one half of the samples. The other half bounds both probabilities (Clopper and
Pearson). Except with a stated error probability, the result is a lower bound on the true loss. A
bound above the claim refutes it. A bound below the claim proves nothing, because the samples may
miss a fault.

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
from veil.places.mechanisms import mechanism
from veil.places.projection import Surface, surface

_FEWEST = 1_000
_DIRECTIONS = 2
_THRESHOLDS = 200


@dataclass(frozen=True)
class PlaceAudit:
    """Result of an audit: the loss is at least `lower`, and claimed to be at most `claimed`."""

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
    """Return a lower bound on the loss of a mechanism, next to its claim.

    `error` is the largest probability that the claim of a correct mechanism is refuted.
    """
    if samples < _FEWEST or not 0 < error < 1:
        raise ParameterError(f"An audit needs {_FEWEST:,} samples or more, and 0 < error < 1.")
    audited, on, draws = mechanism(method), surface(check_crs(crs)), generator(rng)
    promise = audited.promise(on)
    if promise.kind != "metric-dp":
        raise ParameterError(f"{audited.name} claims nothing, so there is nothing to audit.")
    metres = 1 / promise.epsilon
    here = np.zeros((1, 2))
    homes = [here, on.move(here, np.array([metres]), np.array([math.pi / 2]))]
    outputs = [audited.draw(np.repeat(home, samples, axis=0), on, draws) for home in homes]
    first, second = (_nearer(released, homes, on) for released in outputs)
    share = error / (2 * _DIRECTIONS)
    lower = max(_loss(first, second, share), _loss(-second, -first, share))
    return PlaceAudit(str(audited), promise.bound(metres), lower, metres, samples, error)


def _nearer(released: Floats, homes: list[Floats], on: Surface) -> Floats:
    """Return by how many metres (n,) outputs are nearer to the first place than to the second."""
    first, second = (on.polar(home, released)[0] for home in homes)
    return second - first


def _loss(first: Floats, second: Floats, share: float) -> float:
    """Choose a threshold on the first halves, and bound the log-ratio above it on the second."""
    half = len(first) // 2
    steps = np.arange(1, _THRESHOLDS) / _THRESHOLDS
    bounds = np.quantile(np.concatenate([first[:half], second[:half]]), steps)
    more, less = (
        half - np.searchsorted(np.sort(scores[:half]), bounds, side="left")
        for scores in (first, second)
    )
    best = bounds[np.argmax(rough_log_ratios(more, less, half, share))]
    trials = len(first) - half
    hits = (int((first[half:] >= best).sum()), int((second[half:] >= best).sum()))
    return proved_log_ratio(hits, trials, share)
