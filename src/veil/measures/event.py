r"""Choose an event on half of the samples, and bound how well it tells two inputs apart.

For any set E of outputs, a claim of epsilon and delta says
:math:`\Pr[E|x] \le e^\varepsilon \Pr[E|x'] + \delta`. With Clopper-Pearson bounds of both shares,

.. math:: \ln \frac{\text{lower}(\Pr[E|x]) - \delta}{\text{upper}(\Pr[E|x'])}

is, but for a stated chance of error, at most the true epsilon, whichever E was chosen, as long as
it was chosen on other samples.
"""

import math

import numpy as np

from veil.core.types import Floats, Ids
from veil.measures.binomial import lower_share, upper_share

Hits = tuple[int, int]


def log_ratio(one: Ids, other: Ids, share: float, delta: float = 0.0) -> tuple[float, Hits]:
    """Choose an event on the first halves, and bound its log-ratio on the second."""
    half = len(one) // 2
    event = likeliest(one[:half], other[:half], share, delta)
    hits = count(event, one[half:]), count(event, other[half:])
    return shown(hits, len(one) - half, share, delta), hits


def likeliest(one: Ids, other: Ids, share: float, delta: float = 0.0) -> Ids:
    """Return the outputs, likeliest under the first input, whose ratio can best be shown.

    They are taken in the order of their ratio, as many as maximise a rough bound; any choice is
    valid, because it is made on samples that are not used again. Outputs below 0 are left out.
    """
    values, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(values)) for part in np.split(place, [len(one)])]
    covered = values >= 0
    values, (hits, misses) = values[covered], (count[covered] for count in counts)
    if not len(values):
        return values
    order = np.argsort(-(hits + 0.5) / (misses + 0.5), kind="stable")
    more, less = np.cumsum(hits[order]), np.cumsum(misses[order])
    return values[order[: int(np.argmax(roughly(more, less, len(one), share, delta))) + 1]]


def roughly(more: Ids, less: Ids, trials: int, share: float, delta: float = 0.0) -> Floats:
    """Return roughly what ratios hits of events could show, to choose among them."""
    z = math.sqrt(2 * math.log(1 / share))
    low = np.maximum(more - z * np.sqrt(more) - delta * trials, 1e-9)
    ratios: Floats = low / (less + z * np.sqrt(less) + z * z / 2)
    return ratios


def count(event: Ids, outputs: Ids) -> int:
    """Count the outputs that are in an event."""
    return int(np.isin(outputs, event).sum())


def shown(hits: Hits, trials: int, share: float, delta: float = 0.0) -> float:
    """Return the epsilon that hits of an event under either input show: at least that, or 0."""
    low = lower_share(hits[0], trials, share) - delta
    return max(0.0, math.log(low / upper_share(hits[1], trials, share))) if low > 0 else 0.0
