r"""Hold a claimed epsilon against samples of anything that can be drawn from.

For two neighbouring inputs x, x' and any set E of outputs the claim is
:math:`\Pr[E|x] \le e^\varepsilon \Pr[E|x'] + \delta`. The audit draws from both, chooses inputs, E
and how outputs are looked at on one half of the samples, and bounds both probabilities on the
other half (Clopper and Pearson). What comes of it is, but for a stated chance of error, a lower
bound on the true epsilon: above the claim it refutes it. Below it proves nothing: a fault may hide
from the samples.

References
----------
Ding, Wang, Wang, Zhang, Kifer. Detecting Violations of Differential Privacy. CCS 2018.
doi:10.1145/3243734.3243818
Clopper, Pearson. The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial.
Biometrika 26(4), 1934. doi:10.1093/biomet/26.4.404

Notes
-----
The half that chooses is divided again: an event is chosen by counting on its first part, and of
all events, views, directions and pairs the one that shows most on its second part. So one event is
left for the other half, and the chance of error is divided among its two bounds alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.rng import Randomness, generator
from veil.core.types import Ids
from veil.dp.arguments import count as whole
from veil.dp.arguments import positive, share
from veil.dp.audit.found import BOUNDS, Audit
from veil.dp.audit.views import Array, View, views
from veil.measures.bounds import choose_event, count_hits, proved_log_ratio, rough_log_ratios

Draw = Callable[[Any, int, Generator], Array]
_FEWEST = 1_000


@dataclass(frozen=True)
class Claim:
    """What is claimed of what is audited."""

    mechanism: str
    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True)
class _Choice:
    """An event that tells two inputs apart, and how outputs are looked at."""

    ratio: float
    pair: tuple[object, object]
    view: View
    event: Ids


def audit_sampler(
    draw: Draw,
    one: object,
    other: object,
    epsilon: float,
    delta: float = 0.0,
    samples: int = 100_000,
    error: float = 1e-6,
    rng: Randomness = None,
) -> Audit:
    """Hold an epsilon and a delta against samples of a function.

    Parameters
    ----------
    draw
        Called as ``draw(x, n, rng)``: n independent outputs for an input x, as numbers (n,) or
        (n, d).
    one, other
        Two neighbouring inputs.
    samples
        Draws for each input; they limit what can be shown.
    error
        Largest chance that a correct function is accused.

    Examples
    --------
    >>> def noisy(x, n, rng):
    ...     return x + rng.geometric(0.5, n) - rng.geometric(0.5, n)
    >>> audit_sampler(noisy, 0, 1, epsilon=0.3, rng=1).exceeded
    True
    """
    if not callable(draw):
        raise ParameterError("The 'draw' argument must be a function of an input, n and rng.")
    claim = Claim(
        getattr(draw, "__name__", "sampler"),
        positive("epsilon", epsilon, zero=True),
        share("delta", delta, zero=True),
    )
    return hold(claim, [(one, other)], draw, samples, error, rng)


def hold(
    claim: Claim,
    pairs: Sequence[tuple[object, object]],
    draw: Draw,
    samples: int,
    error: float,
    rng: Randomness,
) -> Audit:
    """Choose on one half of the samples what shows most, and bound it on the other half."""
    samples, error = whole("samples", samples, _FEWEST), share("error", error)
    source, part = generator(rng), error / BOUNDS
    half = samples // 2
    best = max(
        (
            choice
            for one, other in pairs
            for choice in _choices(
                (one, other),
                (_drawn(draw, one, half, source), _drawn(draw, other, half, source)),
                part,
                claim.delta,
            )
        ),
        key=lambda choice: choice.ratio,
    )
    trials = samples - half
    seen = [best.view(_drawn(draw, x, trials, source)) for x in best.pair]
    hits = count_hits(best.event, seen[0]), count_hits(best.event, seen[1])
    lower = proved_log_ratio(hits, trials, part, claim.delta)
    return Audit(
        claim.mechanism, best.pair, claim.epsilon, lower, claim.delta, hits, trials, samples, error
    )


def _choices(
    pair: tuple[object, object], drawn: tuple[Array, Array], error: float, delta: float
) -> Iterator[_Choice]:
    """Yield events for each view and direction, with what they show on samples of their own."""
    if drawn[0].shape[1] != drawn[1].shape[1]:
        raise InputError("A sampler must give as many numbers an output for either input.")
    part = len(drawn[0]) // 2
    for view in views(drawn[0][:part], drawn[1][:part]):
        seen = [view(outputs) for outputs in drawn]
        for one, other in ((0, 1), (1, 0)):
            event = choose_event(seen[one][:part], seen[other][:part], error, delta)
            more, less = (
                np.array([count_hits(event, seen[side][part:])], dtype=np.int64)
                for side in (one, other)
            )
            ratio = float(rough_log_ratios(more, less, len(drawn[0]) - part, error, delta)[0])
            yield _Choice(ratio, (pair[one], pair[other]), view, event)


def _drawn(draw: Draw, x: object, n: int, rng: Generator) -> Array:
    """Draw outputs as (n, d) numbers."""
    outputs = np.asarray(draw(x, n, rng))
    if outputs.dtype.kind not in "biuf" or outputs.ndim not in (1, 2) or len(outputs) != n:
        raise InputError(
            "A sampler must give numbers of shape (n,) or (n, d) when n are asked for."
        )
    return outputs.reshape(n, -1)
