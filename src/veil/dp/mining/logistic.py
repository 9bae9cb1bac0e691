r"""Logistic regression from noisy gradients, or from a perturbed objective.

Calibration: noise of sigma times the largest gradient, on batches that include each row with
probability q, is accounted by privacy loss distributions (`sampled` with the accountant `pld`). If
every row is in every batch, zCDP is used, which is proved for discrete noise in any dimension.

References
----------
Abadi et al. Deep Learning with Differential Privacy. CCS 2016, Algorithm 1.
doi:10.1145/2976749.2978318
Bu, Dong, Long, Su. Deep Learning with Gaussian Differential Privacy. HDSR 2(3), 2020, Corollary 4
(where the search begins). doi:10.1162/99608f92.cfc5dd25

Gradient descent uses integers up to the noise. A row x (its features and a 1) and the weights w
are integer steps, and so are x.w and p - y, where p is read from a table of the logistic function.
The gradient of a row is a x, where a is p - y clipped so that a^2 |x|^2 <= C^2, in integers:
nothing is rounded after clipping, and one row changes the sum by at most C (L2), exactly. Matrix
products are also exact: every partial sum is an integer below 2^53 in any order, so the
contribution of a row does not depend on other rows.

The other method minimises a perturbed objective:

.. math:: J(w) = \frac{1}{n}\sum_i \ln(1 + e^{-y_i w \cdot x_i})
   + \frac{\Lambda + \Delta}{2} |w|^2 + \frac{1}{n} b \cdot w, \quad p(b) \propto e^{-\beta |b|}

References
----------
Chaudhuri, Monteleoni, Sarwate. Differentially Private Empirical Risk Minimization. JMLR 12, 2011,
Algorithm 2 and Theorem 9; c = 1/4 for the logistic loss.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator, laplace_ball
from veil.core.types import Floats, Ids
from veil.dp.accounting.compose import compose
from veil.dp.accounting.cost import sampled
from veil.dp.calibration import gaussian_sigma, zcdp_rho
from veil.dp.exact.coins import coins
from veil.dp.exact.grid import steps
from veil.dp.exact.samplers import discrete_gaussian
from veil.dp.inputs import count, positive, share
from veil.dp.mechanism import Array, add
from veil.dp.mechanisms.gaussian import Gaussian
from veil.dp.mining.columns import CHOSEN, label_codes, numbers, ranges

_LEAST = 0.3  # smallest sigma; less hardly hides a row
_CLOSE, _AIM = 0.995, 0.998  # share of epsilon to spend at least, and target of the search
_DIGITS = 2.0**12  # sigma is rounded up to 1/4096 of a power of two


@lru_cache(maxsize=256)
def multiplier(epsilon: float, delta: float, q: float, steps: int) -> tuple[float, Guarantee]:
    """Return nearly the smallest sufficient sigma, and the resulting guarantee.

    >>> sigma, cost = multiplier(1.0, 1e-5, 1.0, 100)
    >>> round(sigma, 2), cost.epsilon
    (40.45, 1.0)
    """
    if q >= 1:
        sigma = math.sqrt(steps / (2 * zcdp_rho(epsilon, delta))) * (1 + 1e-9)
        cost = compose([(Gaussian(sigma=sigma), steps)], delta, "zcdp")
        return sigma, _within(cost, epsilon)
    enough: tuple[float, Guarantee] | None = None
    trials = _trials(epsilon, delta, q, steps)
    for sigma, cost in trials:
        if cost.epsilon <= epsilon and (enough is None or sigma < enough[0]):
            enough = sigma, _within(cost, epsilon)
    if enough is None:
        raise ParameterError(
            "No sigma was found for this epsilon and delta. Increase them, or use fewer steps."
        )
    return enough


def _within(cost: Guarantee, epsilon: float) -> Guarantee:
    """Return the guarantee at the requested epsilon, which must not be smaller."""
    if cost.epsilon > epsilon:
        raise ParameterError("The noise is not sufficient for this epsilon. Increase epsilon.")
    return replace(cost, epsilon=epsilon)


def _trials(
    epsilon: float, delta: float, q: float, steps: int
) -> Iterator[tuple[float, Guarantee]]:
    """Yield sigmas with their costs, converging to the one that spends epsilon."""
    sigma, slope = _rounded(_guess(epsilon, delta, q, steps)), 2.0
    before = (0.0, 0.0)
    for trial in range(24):
        cost = compose([(sampled(Gaussian(sigma=sigma), q), steps)], delta, "pld")
        yield sigma, cost
        spent = max(cost.epsilon, 1e-12)
        if spent <= epsilon and (spent >= _CLOSE * epsilon or sigma <= _rounded(_LEAST)):
            return
        here = math.log(sigma), math.log(spent)
        if trial and before[0] != here[0]:  # log epsilon is nearly linear in log sigma
            slope = max(0.5, min(30.0, (before[1] - here[1]) / (here[0] - before[0])))
        before = here
        step = (here[1] - math.log(_AIM * epsilon)) / slope
        sigma = _rounded(sigma * math.exp(max(-1.0, min(1.0, step))))


def _guess(epsilon: float, delta: float, q: float, steps: int) -> float:
    """Return the sigma of the central limit for many steps."""
    mu = 1 / gaussian_sigma(epsilon, delta)
    return 1 / math.sqrt(math.log1p((mu / q) ** 2 / steps))


def _rounded(sigma: float) -> float:
    unit = 2.0 ** math.floor(math.log2(max(sigma, _LEAST))) / _DIGITS
    return math.ceil(max(sigma, _LEAST) / unit) * unit


Shorts = NDArray[np.int16]
FEATURE = Fraction(1, 2**11)  # a step of a feature
LIMIT = 2**15 - 1  # largest feature in steps: nearly 16
_RESIDUAL, _RESIDUALS = Fraction(1, 2**14), 2**14
GRADIENT = FEATURE * _RESIDUAL  # a step of a gradient
_WEIGHT, _HEAVIEST = Fraction(1, 2**16), 2.0**8
_CELLS, _CELL = 2**14, Fraction(1, 2**10)  # of the logistic function on each side of 0
_COLUMNS = 2**13
_BLOCK = 2**14  # rows at a time
_EXACT = 2**53


@dataclass(frozen=True)
class Rows:
    """Rows (n, d + 1) in steps, whether each has the second label, and the limit of its a."""

    features: Shorts
    second: Ids
    limits: Ids
    most: int  # C in steps of a gradient

    def gradient(self, places: Ids, weights: Floats) -> Ids:
        """Return the exact sum of the clipped gradients of the given rows, in steps."""
        features = self.features[places].astype(np.float64)
        heights = features @ np.floor(weights / float(_WEIGHT) + 0.5)
        cells = np.floor(heights * float(FEATURE * _WEIGHT / _CELL))
        cells = np.clip(cells, -_CELLS, _CELLS - 1).astype(np.int64)
        residuals = _logistic()[cells + _CELLS] - _RESIDUALS * self.second[places]
        limits = self.limits[places]
        cut = np.clip(residuals, -limits, limits).astype(np.float64)
        total: Ids = (cut @ features).astype(np.int64)
        return total


def rows(x: Floats, second: Ids, clip: float) -> Rows:
    """Return features rounded to steps, with the clipping limit of each row."""
    n, d = x.shape
    most = int(Fraction(clip) / GRADIENT)
    if d + 1 > _COLUMNS:
        raise InputError(f"There must be at most {_COLUMNS - 1} features.")
    if n * most >= _EXACT:
        raise InputError(
            "There are too many rows for exact sums. Use fewer rows, or a smaller 'clip'."
        )
    features = np.empty((n, d + 1), dtype=np.int16)
    limits = np.empty(n, dtype=np.int64)
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        bound = float(LIMIT * FEATURE)
        features[part, :d] = steps(np.clip(x[part], -bound, bound), FEATURE)
        features[part, d] = int(1 / FEATURE)
        squares = np.square(features[part].astype(np.int64)).sum(axis=1)
        limits[part] = _limits(squares, most)
    return Rows(features, second, limits, most)


def _limits(squares: Ids, most: int) -> Ids:
    """Return the largest a, at most 1, with a^2 |x|^2 <= C^2, in integers."""
    near = np.minimum(np.floor(most / np.sqrt(squares.astype(np.float64))), _RESIDUALS)
    limits: Ids = near.astype(np.int64)
    return limits - (limits * limits * squares > most * most)


@lru_cache(maxsize=1)
def _logistic() -> Ids:
    """Return the table of the logistic function in steps of p - y."""
    middles = (np.arange(-_CELLS, _CELLS) + 0.5) * float(_CELL)
    table: Ids = np.floor(_RESIDUALS / (1 + np.exp(-middles)) + 0.5).astype(np.int64)
    return table


@dataclass(frozen=True)
class Plan:
    """The parameters of a descent, fixed before any row is read.

    `q` is the probability that a row is in a batch, `sigma` the noise in units of the largest
    gradient, `rate` the learning rate, and `n` the expected number of rows.
    """

    steps: int
    q: float
    sigma: float
    rate: float
    n: int


def descend(data: Rows, plan: Plan, rng: Generator) -> Floats:
    """Take noisy steps from 0, and return the average weights of the second half of steps."""
    width = data.features.shape[1]
    sigma2 = (Fraction(plan.sigma) * data.most) ** 2
    noise = discrete_gaussian(sigma2, plan.steps * width, rng).reshape(plan.steps, width)
    weights, average = np.zeros(width), np.zeros(width)
    latter = plan.steps // 2
    unit = float(GRADIENT) * plan.rate / (plan.q * plan.n)
    for step in range(plan.steps):
        places = np.flatnonzero(coins(Fraction(plan.q), len(data.features), rng))
        noisy = add(data.gradient(places, weights), noise[step])
        weights = np.clip(weights - unit * noisy, -_HEAVIEST, _HEAVIEST)
        if step >= latter:
            average += weights / (plan.steps - latter)
    return average


_CURVATURE = 0.25  # c: the largest second derivative of the loss
_RIDGE = 1e-3
_ROUNDS = 100


def perturbed_minimum(x: Floats, second: Ids, epsilon: float, rng: Generator) -> Floats:
    """Return weights (d + 1,) that minimise a perturbed objective, in floating point.

    Rows, including the 1 of the intercept, are scaled down to length 1.
    """
    data = np.c_[x, np.ones(len(x))]
    data /= np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    n, ridge = len(data), _RIDGE
    ratio = _CURVATURE / (n * ridge)
    budget = epsilon - 2 * math.log1p(ratio)
    if budget <= 0:
        budget = epsilon / 2
        ridge = max(ridge, _CURVATURE / (n * math.expm1(epsilon / 4)))
    noise = laplace_ball(1, data.shape[1], budget / 2, rng)[0]
    return minimum(data, second, ridge, noise / n)


def minimum(x: Floats, second: Ids, ridge: float, slope: Floats | None = None) -> Floats:
    """Return the minimum of the mean loss + ridge/2 |w|^2 + slope.w, by Newton's method."""
    n, d = x.shape
    weights = np.zeros(d)
    linear = np.zeros(d) if slope is None else slope
    for _ in range(_ROUNDS):
        share = 0.5 * (1 + np.tanh(x @ weights / 2))
        gradient = x.T @ (share - second) / n + ridge * weights + linear
        if float(np.abs(gradient).max()) < 1e-12:
            break
        curvature = (x * (share * (1 - share))[:, None]).T @ x / n
        weights = weights - np.linalg.solve(curvature + ridge * np.eye(d), gradient)
    return weights


def without_guarantee(epsilon: float) -> Guarantee:
    """Return the guarantee `none`, with a caveat on what the exact minimum would satisfy."""
    return Guarantee(
        "none",
        unit="record",
        neighbours="replace one record",
        caveat=(
            f"The exact minimum with exact noise would be {epsilon:g}-DP when one record is"
            " replaced. The computed one is neither: it has floating-point noise and is only"
            " nearly the minimum."
        ),
    )


Method = Literal["sgd", "objective"]
ROWS = (
    "The number of rows is treated as public, because the sampling rate reveals it. If it is not,"
    " declare a number in advance."
)
_MOST_CLIP = 16.0
_FASTEST, _QUIET = 8.0, 0.07  # largest learning rate, and largest noise of a step


@dataclass(frozen=True, eq=False)
class Logistic:
    """A binary classifier: the second label if x.weights + intercept > 0.

    `plan` has steps, batches and noise; None for the method "objective". `bounds` scale the
    features; None if they were not scaled.
    """

    labels: Array
    weights: Floats
    intercept: float
    cost: Guarantee
    seeded: bool = False
    plan: Plan | None = None
    bounds: Floats | None = None

    def predict(self, X: object) -> Array:  # noqa: N803 - the letter of the literature
        """Return the more likely label of each row (n, features)."""
        features = scale_features(numbers(X, "X", len(self.weights)), self.bounds)
        labels: Array = self.labels[
            (features @ self.weights + self.intercept > 0).astype(np.int64)
        ]
        return labels


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
    r"""Train a binary logistic regression by noisy gradient descent (DP-SGD).

    Each step samples each row with probability q = batch/n, by exact coins, clips the gradient of
    each sampled row to length C, adds discrete Gaussian noise of sigma C to their sum, and moves
    the weights against it. Sigma is the smallest for which the losses of all steps satisfy epsilon
    and delta. Everything is in integers up to the noise; see `veil.dp.mining.logistic`.

    Proved: one row changes a sum by at most C (L2). That the losses of all steps compose to
    (epsilon, delta) is computed for continuous noise (see the caveat of `cost`). If q = 1, it is
    proved by zCDP for the noise as drawn.

    Parameters
    ----------
    X
        Numbers (n, features) of about unit size, such as 0 and 1, or from -1 to 1; values are
        clipped at 16. With `bounds` they may have any size.
    y
        The label of each row; there are two.
    epsilon, delta
        Cost of the whole model.
    classes
        Both labels, which are public. By default the labels in the data are treated as public.
    bounds
        Public pair (low, high) per feature, or one for all: features are clipped and scaled to
        -1..1.
    steps, batch, clip, rate
        Number of steps, mean number of rows per batch, C, and the learning rate, by default
        min(8, 0.07 q n / sigma) / C. Do not choose them by looking at the data.
    n
        Declared number of rows. By default that of the data is treated as public.
    method
        "sgd", or "objective": the minimum of a perturbed objective (Chaudhuri et al. 2011), for
        which nothing is proved as computed. It needs no delta, and performs worse.
    rng
        None for fresh randomness from the operating system. A seed or a generator is for
        experiments: the model is marked as seeded and **not private**.

    References
    ----------
    Abadi et al. Deep Learning with Differential Privacy. CCS 2016, Algorithm 1.
    doi:10.1145/2976749.2978318

    Notes
    -----
    The gradient of a row is already in integer steps when it is clipped, so it is not rounded
    later: the sensitivity is C, not C + sqrt(d) g.

    Examples
    --------
    >>> model = logistic([[0.0], [1.0]] * 100, [0, 1] * 100, 1.0, 1e-5, rng=1)
    >>> model.predict([[0.0], [1.0]]).tolist()
    [0, 1]
    """
    if method not in ("sgd", "objective"):
        raise ParameterError("The 'method' argument must be 'sgd' or 'objective'.")
    epsilon, clip = positive("epsilon", epsilon), _clip(clip)
    features = numbers(X, "X")
    size = _size(len(features), n)
    steps, batch = count("steps", steps), count("batch", batch)
    fixed = None if rate is None else positive("rate", rate)
    failing = share("delta", delta) if method == "sgd" else 0.0
    box = None if bounds is None else ranges(bounds, features.shape[1])
    second, labels, guessed = label_codes(y, len(features), classes)
    if len(labels) != 2:
        raise InputError("logistic needs exactly two labels. List both in 'classes'.")
    x, draws = scale_features(features, box), generator(rng)
    plan = None
    if method == "objective":
        weights, cost = perturbed_minimum(x, second, epsilon, draws), without_guarantee(epsilon)
    else:
        q = min(1.0, batch / size)
        sigma, cost = multiplier(epsilon, failing, q, steps)
        learning_rate = min(_FASTEST, _QUIET * q * size / sigma) / clip if fixed is None else fixed
        plan = Plan(steps, q, sigma, learning_rate, size)
        weights = descend(rows(x, second, clip), plan, draws)
    caveats = [guessed, "" if n else ROWS, CHOSEN]
    for caveat in filter(None, caveats):
        cost = cost.with_caveat(caveat)
    return Logistic(labels, weights[:-1], float(weights[-1]), cost, rng is not None, plan, box)


def scale_features(x: Floats, bounds: Floats | None) -> Floats:
    """Return features clipped to their bounds and scaled to -1..1, if there are bounds."""
    if bounds is None:
        return x
    low, high = bounds.T
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    scaled: Floats = np.clip((np.clip(x, low, high) - middle) / half, -1.0, 1.0)
    return scaled


def _size(rows: int, declared: int | None) -> int:
    if declared is not None:
        return count("n", declared)
    if not rows:
        raise InputError("logistic needs at least one row.")
    return rows


def _clip(clip: float) -> float:
    value = positive("clip", clip)
    if value > _MOST_CLIP:
        raise ParameterError(f"The 'clip' argument must be at most {_MOST_CLIP:g}.")
    return value
