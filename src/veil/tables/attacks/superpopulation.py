"""How many are unique in a population, as a sample of it tells."""

import math

import numpy as np

from veil.core.types import Floats

_ROUNDS = 200
_STOP = 1e-12


def zayatz(sizes: Floats, population: float) -> float:
    """Estimate the share of the population that is unique, from sizes of classes of a sample.

    A class of the population is taken to have size i as often as one of the sample; of size i it
    is unique in the sample with hypergeometric chance. Bayes gives how often who is unique in the
    sample is so in the population.
    """
    n = float(sizes.sum())
    size, count = np.unique(sizes, return_counts=True)
    if size[0] != 1:
        return 0.0
    chances = np.array([_drawn_once(one, n, population) for one in size.tolist()])
    weights = count / len(sizes) * chances
    return float(weights[0] / weights.sum() * count[0] / n)


def _drawn_once(size: float, n: float, population: float) -> float:
    """Return the chance that one of `size` among `population` is among n drawn."""
    if population - size < n - 1:
        return 0.0
    return math.exp(
        math.log(size) + _log_choose(population - size, n - 1) - _log_choose(population, n)
    )


def _log_choose(n: float, k: float) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def pitman(sizes: Floats, population: float) -> float | None:
    r"""Estimate the share of the population that is unique by Pitman's sampling formula.

    .. math:: \frac{\Gamma(\theta + 1)}{\Gamma(\theta + \alpha)} N^{\alpha - 1}

    with theta and alpha of the largest likelihood; None if there is no such pair.
    """
    found = _largest_likelihood(sizes)
    if found is None:
        return None
    theta, alpha = found
    gammas = math.lgamma(theta + 1) - math.lgamma(theta + alpha)
    share = math.exp(gammas + (alpha - 1) * math.log(population))
    return share if 0 <= share <= 1 else None


class _Likelihood:
    """The logarithm of Pitman's formula for a sample, and its first and second derivatives."""

    def __init__(self, sizes: Floats) -> None:
        self._classes = np.arange(1, len(sizes), dtype=np.float64)
        self._rows = np.arange(1, int(sizes.sum()), dtype=np.float64)
        larger = len(sizes) - np.cumsum(np.bincount(sizes.astype(np.int64)))[1:-1]
        self._larger = larger.astype(np.float64)  # classes of more than i rows, i = 1, 2, ...
        self._within = np.arange(1, len(larger) + 1, dtype=np.float64)

    def value(self, theta: float, alpha: float) -> float:
        return float(
            np.log(theta + alpha * self._classes).sum()
            - np.log(theta + self._rows).sum()
            + (self._larger * np.log(self._within - alpha)).sum()
        )

    def slope(self, theta: float, alpha: float) -> Floats:
        inverse = 1 / (theta + alpha * self._classes)
        return np.array(
            [
                inverse.sum() - (1 / (theta + self._rows)).sum(),
                (self._classes * inverse).sum() - (self._larger / (self._within - alpha)).sum(),
            ]
        )

    def bend(self, theta: float, alpha: float) -> Floats:
        inverse = 1 / (theta + alpha * self._classes) ** 2
        mixed = -(self._classes * inverse).sum()
        return np.array(
            [
                [-inverse.sum() + (1 / (theta + self._rows) ** 2).sum(), mixed],
                [
                    mixed,
                    -(self._classes**2 * inverse).sum()
                    - (self._larger / (self._within - alpha) ** 2).sum(),
                ],
            ]
        )


def _largest_likelihood(sizes: Floats) -> tuple[float, float] | None:
    """Climb by Newton's method, halving steps that leave the range or lead down."""
    if len(sizes) < 2 or sizes.max() < 2:
        return None
    model = _Likelihood(sizes)
    point = _start(sizes)
    value = model.value(*point)
    for _ in range(_ROUNDS):
        step = _step(model, point)
        moved = _climbed(model, point, value, step)
        if moved is None:
            break
        before, (point, value) = point, moved
        if np.abs(point - before).max() <= _STOP * max(1.0, float(np.abs(point).max())):
            break
    slope = model.slope(*point)
    flat = np.abs(slope * np.maximum(np.abs(point), 1e-3)).max() <= 1e-5 * sizes.sum()
    return (float(point[0]), float(point[1])) if flat and 0 < point[1] < 1 else None


def _start(sizes: Floats) -> Floats:
    """Return estimates by moments, or the middle of the range where they are outside."""
    n, u = float(sizes.sum()), float(len(sizes))
    ones, twos = float((sizes == 1).sum()), float((sizes == 2).sum())
    c = ones * (ones - 1) / twos if twos else 0.0
    below = 2 * ones * u + ones * c - n * c
    theta = (n * u * c - ones * (n - 1) * (2 * u + c)) / below if below else 1.0
    alpha = (theta * (ones - n) + (n - 1) * ones) / (n * u)
    if not (0 < alpha < 1 and theta > -alpha):
        return np.array([1.0, 0.5])
    return np.array([theta, alpha])


def _step(model: _Likelihood, point: Floats) -> Floats:
    """Return Newton's step, or one along the slope where the likelihood is not concave."""
    slope, bend = model.slope(*point), model.bend(*point)
    if bend[0, 0] < 0 and np.linalg.det(bend) > 0:
        return np.asarray(-np.linalg.solve(bend, slope), dtype=np.float64)
    scale = np.maximum(np.abs(point), 1e-3)
    ascent: Floats = slope * scale**2 / max(float(np.abs(slope * scale).max()), 1e-300)
    return ascent


def _climbed(
    model: _Likelihood, point: Floats, value: float, step: Floats
) -> tuple[Floats, float] | None:
    for _ in range(60):
        theta, alpha = point + step
        if 0 < alpha < 1 and theta > -alpha:
            higher = model.value(theta, alpha)
            if higher >= value - 1e-12 * abs(value):
                return point + step, higher
        step = step / 2
    return None
