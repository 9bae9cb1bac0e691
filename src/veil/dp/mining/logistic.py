r"""Logistic regression from noisy gradients, or from a perturbed objective.

How much noise each step of a descent needs, so that all of them keep to a budget.
Noise of sigma times the largest gradient, on batches that take each row with probability q, is
counted by the law of the losses (`sampled` under the accountant `pld`). Where every row is in
every batch, by zCDP, which is proved for the discrete noise in any dimension.

References
----------
Abadi et al. Deep Learning with Differential Privacy. CCS 2016, Algorithm 1.
doi:10.1145/2976749.2978318
Bu, Dong, Long, Su. Deep Learning with Gaussian Differential Privacy. HDSR 2(3), 2020, Corollary 4
(where the search begins). doi:10.1162/99608f92.cfc5dd25

Gradient descent on noisy sums, in whole numbers up to the noise.
A row x (its features, and a 1) and the weights w are whole numbers of steps, and so are x.w and
p - y, p being read from a table of the logistic function. The gradient of a row is a x, where a is
p - y cut so that a^2 |x|^2 <= C^2, all of it in whole numbers: nothing is rounded after it is cut,
and one row changes the sum by at most C (L2), exactly. Products of matrices are exact, too: every
partial sum is a whole number below 2^53, in whatever order it is taken, so that what one row adds
does not depend on which others there are.

Logistic regression by the minimum of a perturbed objective.

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

_LEAST = 0.3  # sigma, below which a step hardly hides a row
_CLOSE, _AIM = 0.995, 0.998  # of epsilon: what is spent of it, and what the search aims at
_DIGITS = 2.0**12  # sigma is rounded up to a part of that


@lru_cache(maxsize=256)
def multiplier(epsilon: float, delta: float, q: float, steps: int) -> tuple[float, Guarantee]:
    """Return the least sigma that is enough, nearly, and what is then proved.

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
            "No noise was found that keeps to this epsilon and delta; give larger ones, or fewer"
            " steps."
        )
    return enough


def _within(cost: Guarantee, epsilon: float) -> Guarantee:
    """Return a guarantee at the epsilon that was asked for, which is not below its own."""
    if cost.epsilon > epsilon:
        raise ParameterError("The noise does not keep to this epsilon; give a larger one.")
    return replace(cost, epsilon=epsilon)


def _trials(
    epsilon: float, delta: float, q: float, steps: int
) -> Iterator[tuple[float, Guarantee]]:
    """Try sigmas, each nearer to what spends epsilon, until it is spent but for a little."""
    sigma, slope = _rounded(_guess(epsilon, delta, q, steps)), 2.0
    before = (0.0, 0.0)
    for trial in range(24):
        cost = compose([(sampled(Gaussian(sigma=sigma), q), steps)], delta, "pld")
        yield sigma, cost
        spent = max(cost.epsilon, 1e-12)
        if spent <= epsilon and (spent >= _CLOSE * epsilon or sigma <= _rounded(_LEAST)):
            return
        here = math.log(sigma), math.log(spent)
        if trial and before[0] != here[0]:  # log epsilon falls nearly straight in log sigma
            slope = max(0.5, min(30.0, (before[1] - here[1]) / (here[0] - before[0])))
        before = here
        step = (here[1] - math.log(_AIM * epsilon)) / slope
        sigma = _rounded(sigma * math.exp(max(-1.0, min(1.0, step))))


def _guess(epsilon: float, delta: float, q: float, steps: int) -> float:
    """Return sigma as the central limit of many steps has it."""
    mu = 1 / gaussian_sigma(epsilon, delta)
    return 1 / math.sqrt(math.log1p((mu / q) ** 2 / steps))


def _rounded(sigma: float) -> float:
    unit = 2.0 ** math.floor(math.log2(max(sigma, _LEAST))) / _DIGITS
    return math.ceil(max(sigma, _LEAST) / unit) * unit


Shorts = NDArray[np.int16]
FEATURE = Fraction(1, 2**11)  # a step of a feature
LIMIT = 2**15 - 1  # steps of a feature at the most: nearly 16
_RESIDUAL, _RESIDUALS = Fraction(1, 2**14), 2**14
GRADIENT = FEATURE * _RESIDUAL  # a step of a gradient
_WEIGHT, _HEAVIEST = Fraction(1, 2**16), 2.0**8
_CELLS, _CELL = 2**14, Fraction(1, 2**10)  # of the logistic function on each side of 0
_COLUMNS = 2**13
_BLOCK = 2**14  # rows at a time
_EXACT = 2**53


@dataclass(frozen=True)
class Rows:
    """Rows (n, d + 1) in steps, whether each is of the second label, and the limit of its a."""

    features: Shorts
    second: Ids
    limits: Ids
    most: int  # C in steps of a gradient

    def gradient(self, places: Ids, weights: Floats) -> Ids:
        """Return the sum of the cut gradients of some rows, exactly, in steps."""
        chosen = self.features[places].astype(np.float64)
        heights = chosen @ np.floor(weights / float(_WEIGHT) + 0.5)
        cells = np.floor(heights * float(FEATURE * _WEIGHT / _CELL))
        cells = np.clip(cells, -_CELLS, _CELLS - 1).astype(np.int64)
        residuals = _logistic()[cells + _CELLS] - _RESIDUALS * self.second[places]
        limits = self.limits[places]
        cut = np.clip(residuals, -limits, limits).astype(np.float64)
        found: Ids = (cut @ chosen).astype(np.int64)
        return found


def rows(x: Floats, second: Ids, clip: float) -> Rows:
    """Round features to steps, and find how far the gradient of each row may go."""
    n, d = x.shape
    most = int(Fraction(clip) / GRADIENT)
    if d + 1 > _COLUMNS:
        raise InputError(f"There must be at most {_COLUMNS - 1} features.")
    if n * most >= _EXACT:
        raise InputError("There are too many rows for exact sums; take fewer, or a lower 'clip'.")
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
    """Return the largest a, at most 1, with a^2 |x|^2 <= C^2, in whole numbers."""
    near = np.minimum(np.floor(most / np.sqrt(squares.astype(np.float64))), _RESIDUALS)
    limits: Ids = near.astype(np.int64)
    return limits - (limits * limits * squares > most * most)


@lru_cache(maxsize=1)
def _logistic() -> Ids:
    """Return the logistic function in steps of p - y, cell by cell."""
    middles = (np.arange(-_CELLS, _CELLS) + 0.5) * float(_CELL)
    table: Ids = np.floor(_RESIDUALS / (1 + np.exp(-middles)) + 0.5).astype(np.int64)
    return table


@dataclass(frozen=True)
class Plan:
    """How a descent goes, fixed before any row is read.

    `q` is the probability of a row to be in a batch, `sigma` the noise in units of the largest
    gradient, `rate` that of learning, `n` the number of rows that are expected.
    """

    steps: int
    q: float
    sigma: float
    rate: float
    n: int


def descend(data: Rows, plan: Plan, rng: Generator) -> Floats:
    """Take noisy steps from 0, and return the average weights of the latter half of them."""
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
    """Return the weights (d + 1,) that a floating-point descent finds for a perturbed objective.

    Rows are shrunk to length 1, with the 1 of the intercept in it.
    """
    data = np.c_[x, np.ones(len(x))]
    data /= np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    n, ridge = len(data), _RIDGE
    ratio = _CURVATURE / (n * ridge)
    left = epsilon - 2 * math.log1p(ratio)
    if left <= 0:
        left = epsilon / 2
        ridge = max(ridge, _CURVATURE / (n * math.expm1(epsilon / 4)))
    noise = laplace_ball(1, data.shape[1], left / 2, rng)[0]
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
    """Return that nothing is proved of what is computed, and what would hold of the exact one."""
    return Guarantee(
        "none",
        unit="record",
        neighbours="replace one record",
        caveat=(
            f"The exact minimum, with exact noise, would be {epsilon:g}-DP when one record is"
            " replaced. What was computed is neither: floating-point noise, and a minimum that is"
            " nearly reached."
        ),
    )


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
        given = scale_features(numbers(X, "X", len(self.weights)), self.bounds)
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
    to epsilon and delta. All is in whole numbers up to the noise; see `veil.dp.mining.logistic`.

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
    second, labels, guessed = label_codes(y, len(given), classes)
    if len(labels) != 2:
        raise InputError("logistic takes two labels; name both of them.")
    x, draws = scale_features(given, box), generator(rng)
    plan = None
    if method == "objective":
        weights, cost = perturbed_minimum(x, second, epsilon, draws), without_guarantee(epsilon)
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


def scale_features(x: Floats, bounds: Floats | None) -> Floats:
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
