r"""Logistic regression from noisy gradients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats
from veil.dp.arguments import count, positive, share
from veil.dp.mechanism import Array
from veil.dp.mining.descent import Plan, descend, rows
from veil.dp.mining.given import CHOSEN, labelled, numbers, ranges
from veil.dp.mining.multiplier import multiplier
from veil.dp.mining.objective import perturbed, unproved

Method = Literal["sgd", "objective"]
ROWS = (
    "The number of rows is treated as public, as the rate of batches tells it; declare one"
    " beforehand where it is not."
)
_MOST_CLIP = 16.0
_FASTEST, _QUIET = 8.0, 0.07  # the rate at most, and how far the noise of a step may go


@dataclass(frozen=True, eq=False)
class Logistic:
    """A classifier of two labels: the second where x.weights + intercept is above 0.

    `plan` tells steps, batches and noise; None for the method "objective". `bounds` are those by
    which features are scaled, None where they were given in scale.
    """

    labels: Array
    weights: Floats
    intercept: float
    cost: Guarantee
    seeded: bool = False
    plan: Plan | None = None
    bounds: Floats | None = None

    def predict(self, X: object) -> Array:  # noqa: N803 - the letter of the literature
        """Return the likelier label of each row (n, features)."""
        given = scaled(numbers(X, "X", len(self.weights)), self.bounds)
        found: Array = self.labels[(given @ self.weights + self.intercept > 0).astype(np.int64)]
        return found


def logistic(
    X: object,  # noqa: N803 - the letter of the literature
    y: object,
    epsilon: float,
    delta: float,
    *,
    classes: Sequence[object] | None = None,
    bounds: object = None,
    steps: int = 400,
    batch: int = 512,
    clip: float = 1.0,
    rate: float | None = None,
    n: int | None = None,
    method: Method = "sgd",
    rng: Randomness = None,
) -> Logistic:
    r"""Learn a logistic regression of two labels by noisy gradient descent (DP-SGD).

    Each step takes each row with probability q = batch/n, by exact coins, cuts the gradient of
    each row taken to the length C, adds discrete Gaussian noise of sigma C to their sum, and moves
    the weights against it. Sigma is the least for which the law of the losses of all steps keeps
    to epsilon and delta. All is in whole numbers up to the noise; see `veil.dp.mining.descent`.

    Proved: one row changes a sum by at most C (L2). That the losses of all steps add up to
    (epsilon, delta) is computed for continuous noise (see the caveat of `cost`), unless q = 1:
    then it is proved by zCDP for the noise as it is drawn.

    Parameters
    ----------
    X
        Numbers (n, features) of about unit size, as 0 and 1, or from -1 to 1; what is beyond 16 is
        cut. With `bounds` they may be of any size.
    y
        The label of each row, of two.
    epsilon, delta
        What the whole model costs.
    classes
        Both labels, which are public. Without them those that occur are treated as public.
    bounds
        A pair (low, high) for each feature, or one for all, which are public: features are cut to
        them and scaled to -1..1.
    steps, batch, clip, rate
        How many steps, how many rows a batch has on average, C, and the rate of learning, by
        default min(8, 0.07 q n / sigma) / C. They must not be chosen by looking at the data.
    n
        The number of rows, if it was declared; without it that of the data is treated as public.
    method
        "sgd", or "objective": the minimum of a perturbed objective (Chaudhuri et al. 2011), of
        which nothing is proved as it is computed. It needs no delta, and does worse.
    rng
        None for fresh randomness of the operating system. A seed or a generator is for
        experiments: the model is marked as seeded and **not private**.

    References
    ----------
    Abadi et al. Deep Learning with Differential Privacy. CCS 2016, Algorithm 1.
    doi:10.1145/2976749.2978318

    Notes
    -----
    The gradient of a row is not rounded after it was cut, since it is a whole number of steps
    already: the sensitivity is C, and not C + sqrt(d) g.

    Examples
    --------
    >>> model = logistic([[0.0], [1.0]] * 100, [0, 1] * 100, 1.0, 1e-5, rng=1)
    >>> model.predict([[0.0], [1.0]]).tolist()
    [0, 1]
    """
    if method not in ("sgd", "objective"):
        raise ParameterError("The 'method' argument must be 'sgd' or 'objective'.")
    epsilon, clip = positive("epsilon", epsilon), _clip(clip)
    given = numbers(X, "X")
    size = _size(len(given), n)
    steps, batch = count("steps", steps), count("batch", batch)
    fixed = None if rate is None else positive("rate", rate)
    failing = share("delta", delta) if method == "sgd" else 0.0
    box = None if bounds is None else ranges(bounds, given.shape[1])
    second, labels, guessed = labelled(y, len(given), classes)
    if len(labels) != 2:
        raise InputError("logistic takes two labels; name both of them.")
    x, draws = scaled(given, box), generator(rng)
    plan = None
    if method == "objective":
        weights, cost = perturbed(x, second, epsilon, draws), unproved(epsilon)
    else:
        q = min(1.0, batch / size)
        sigma, cost = multiplier(epsilon, failing, q, steps)
        chosen = min(_FASTEST, _QUIET * q * size / sigma) / clip if fixed is None else fixed
        plan = Plan(steps, q, sigma, chosen, size)
        weights = descend(rows(x, second, clip), plan, draws)
    caveats = [guessed, "" if n else ROWS, CHOSEN]
    for caveat in filter(None, caveats):
        cost = cost.with_caveat(caveat)
    return Logistic(labels, weights[:-1], float(weights[-1]), cost, rng is not None, plan, box)


def scaled(x: Floats, bounds: Floats | None) -> Floats:
    """Cut features to their bounds, and scale them to -1..1; without bounds leave them."""
    if bounds is None:
        return x
    low, high = bounds.T
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    found: Floats = np.clip((np.clip(x, low, high) - middle) / half, -1.0, 1.0)
    return found


def _size(given: int, declared: int | None) -> int:
    if declared is not None:
        return count("n", declared)
    if not given:
        raise InputError("logistic needs at least one row.")
    return given


def _clip(clip: float) -> float:
    found = positive("clip", clip)
    if found > _MOST_CLIP:
        raise ParameterError(f"The 'clip' argument must be at most {_MOST_CLIP:g}.")
    return found
