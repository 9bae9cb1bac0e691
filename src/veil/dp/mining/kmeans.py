"""k-means from noisy counts of grid cells, and noisy sums."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.exact.coins import Flags
from veil.dp.exact.grid import grid, steps
from veil.dp.exact.samplers import discrete_laplace
from veil.dp.inputs import count, positive
from veil.dp.mechanism import add, pure_guarantee
from veil.dp.mining.columns import CHOSEN, numbers, ranges

_BLOCK = 2**16  # rows at a time
_SAMPLES, _ROUNDS = 200, 10  # uniform points per centre, and rounds


def nearest(points: Floats, centres: Floats) -> Ids:
    """Return the index of the nearest centre of each point; ties go to the first.

    It uses only elementwise arithmetic in a fixed order, which every machine rounds alike. So the
    result for one point does not depend on other points, as it could in a matrix product.
    """
    places = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), _BLOCK):
        places[start : start + _BLOCK] = np.argmin(
            squares(points[start : start + _BLOCK], centres), axis=1
        )
    return places


def squares(points: Floats, centres: Floats) -> Floats:
    """Return the squared distance (n, k) of each point from each centre."""
    total = np.zeros((len(points), len(centres)))
    for column, centre in zip(points.T, centres.T, strict=True):
        total += np.square(column[:, None] - centre[None, :])
    return total


def anywhere(count: int, box: Floats, rng: Generator) -> Floats:
    """Draw points uniformly from a box (d, 2)."""
    low, high = box.T
    points: Floats = low + rng.random((count, len(box))) * (high - low)
    return points


def starts(k: int, box: Floats, rng: Generator) -> Floats:
    """Return k centres spread over a box, by k-means of uniform points, without data."""
    points = anywhere(_SAMPLES * k, box, rng)
    centres = points[:k].copy()
    for _ in range(_ROUNDS):
        places = nearest(points, centres)
        for i in np.unique(places):
            centres[i] = points[places == i].mean(axis=0)
    return centres


_BITS = 26  # log2 of the sum of the half widths over a step, at least
_MOST = 2**62


@dataclass(frozen=True, eq=False)
class KMeans:
    """Cluster centres (k, d), and their cost."""

    centres: Floats
    cost: Guarantee
    seeded: bool = False

    def predict(self, points: object) -> Ids:
        """Return the index of the nearest centre of each point."""
        return nearest(numbers(points, "Points", self.centres.shape[1]), self.centres)


@dataclass(frozen=True)
class Box:
    """Public bounds (d, 2), in integer steps around the middle of each column.

    A point is at most `limits` steps from the middle, and adds at most `sensitivity` to all sums
    together. This holds for the computed numbers, because they are clipped after rounding.
    """

    bounds: Floats

    @property
    def middle(self) -> Floats:
        """The middle of each column."""
        centre: Floats = self.bounds[:, 0] / 2 + self.bounds[:, 1] / 2
        return centre

    @property
    def step(self) -> Fraction:
        """The grid, which depends only on the bounds."""
        widths = [Fraction(high) - Fraction(low) for low, high in self.bounds.tolist()]
        return grid(sum(widths, Fraction(0)) / 2, bits=_BITS)

    @property
    def limits(self) -> Ids:
        """Steps from the middle to the farther bound of each column."""
        ends = steps(self.bounds - self.middle[:, None], self.step)
        farthest: Ids = np.abs(ends).max(axis=1)
        return farthest

    @property
    def sensitivity(self) -> int:
        """The most that one point adds to all sums together (L1)."""
        return int(self.limits.sum())

    def stepped(self, points: Floats) -> Ids:
        """Return points in steps from the middle, clipped to the bounds."""
        cut = np.clip(points, self.bounds[:, 0], self.bounds[:, 1])
        return np.clip(steps(cut - self.middle, self.step), -self.limits, self.limits)

    def unstepped(self, k: Floats) -> Floats:
        """Return steps as numbers within the bounds."""
        values = self.middle + k * float(self.step)
        return np.clip(values, self.bounds[:, 0], self.bounds[:, 1])


def kmeans(
    points: object,
    k: int,
    epsilon: float,
    bounds: object,
    *,
    rounds: int = 5,
    rng: Randomness = None,
) -> KMeans:
    r"""Return k cluster centres from noisy counts of a grid, improved by noisy Lloyd rounds.

    1. The number of points is released with epsilon/50. The noisy number n and epsilon determine
       the grid: about (n epsilon/10)^(2d/(2 + d)) cells, at least 4k and at most 16,384.
    2. The count of each cell is released with 39/50 epsilon. Starts and rounds of k-means on the
       noisy counts cost nothing more.
    3. In each of T rounds, the count of points per centre and the sum of x - middle of the bounds,
       in integer steps, get epsilon/(10T) each. A centre moves towards its new mean according to
       how much more exact the mean is than a cell.

    With more than 14 columns there is no grid: centres start anywhere, and the rounds get all of
    epsilon.

    Proved: epsilon-DP for the numbers as computed, under adding or removing one point. A point
    changes the number of points by 1, only the count of its cell by 1, in each round only the
    count of its centre by 1, and the sums of that centre by at most the half widths of all bounds
    together (L1). Each of these gets discrete Laplace noise of its sensitivity over its share of
    epsilon. The shares add up to epsilon, and everything else is computed from noisy numbers.

    Parameters
    ----------
    points
        Numbers (n, d), clipped to the bounds.
    k
        Number of centres.
    epsilon
        Cost of counts, grid and rounds together.
    bounds
        Public pair (low, high) per column, or one for all. Do not take them from the data.
    rounds
        T, fixed in advance.
    rng
        None for fresh randomness from the operating system. A seed or a generator is for
        experiments: the centres are marked as seeded and **not private**.

    References
    ----------
    Su, Cao, Li, Bertino, Jin. Differentially Private K-Means Clustering. CODASPY 2016, Sections 4
    and 5 (grid and hybrid). doi:10.1145/2857705.2857708
    Blum, Dwork, McSherry, Nissim. Practical Privacy: The SuLQ Framework. PODS 2005, Section 5.1.
    doi:10.1145/1065167.1065184

    Examples
    --------
    >>> model = kmeans([[0.1], [0.2], [0.8]] * 50, 2, 1e6, (0, 1), rng=1)
    >>> np.sort(model.centres.ravel()).round(2).tolist()
    [0.15, 0.8]
    """
    epsilon = positive("epsilon", epsilon)
    k, rounds = count("k", k), count("rounds", rounds)
    data = numbers(points, "Points")
    box = Box(ranges(bounds, data.shape[1]))
    if (box.limits == 0).any():
        raise ParameterError(
            "Some bounds are too narrow compared with those of other columns. Rescale the columns."
        )
    if len(data) * int(box.limits.max()) > _MOST:
        raise InputError("There are too many points for sums of 64 bits.")
    draws = generator(rng)
    whole, rest = box.stepped(data), Fraction(epsilon)
    ends = np.stack([-box.limits, box.limits], axis=1).astype(np.float64)
    if len(box.limits) > _COLUMNS:
        centres, error = starts(k, ends, draws), np.square(ends[:, 1] - ends[:, 0]) / 12
    else:
        centres, error = _start(whole, k, rest, ends, draws)
        rest -= sum((rest * share for share in _SHARES), Fraction(0))
    share = rest / (2 * rounds)
    scales = 1 / share, box.sensitivity / share
    for turn in range(rounds):
        counts, sums = totals(whole, nearest(whole.astype(np.float64), centres), k)
        moved, lost = _moved(centres, error, (counts, sums), scales, draws)
        if len(box.limits) > _COLUMNS and turn < rounds - 1:
            moved[lost] = anywhere(int(lost.sum()), ends, draws)
        centres = np.clip(moved, ends[:, 0], ends[:, 1])
    cost = pure_guarantee(float(epsilon), caveat=CHOSEN)
    return KMeans(box.unstepped(centres), cost, rng is not None)


_SHARES = Fraction(1, 50), Fraction(39, 50)  # of epsilon, for the number of points and the cells
_COLUMNS = 14  # a grid of two cells a column has at most _CELLS
_CELLS = 2**14
_NOISY = 10  # points of a cell, times epsilon, that Su et al. found best
_TRIES, _TURNS = 8, 25  # starts on a grid, and rounds of each


def _start(
    whole: Ids, k: int, epsilon: Fraction, ends: Floats, rng: Generator
) -> tuple[Floats, Floats]:
    """Return centres from noisy cells, and the squared error (d,) of a point in a cell."""
    of_number, of_cells = (epsilon * part for part in _SHARES)
    noise = discrete_laplace(1 / of_number, 1, rng)
    size = _size(float(len(whole) + noise[0]) * float(of_cells), k, len(ends))
    counts = cells(whole, ends[:, 1].astype(np.int64), size)
    noisy = add(counts, discrete_laplace(1 / of_cells, counts.size, rng))
    width = (ends[:, 1] - ends[:, 0]) / size
    middles = ends[:, 0] + (np.indices((size,) * len(ends)).reshape(len(ends), -1).T + 0.5) * width
    tries = [
        _weighted(middles, noisy.astype(np.float64), k, float(1 / of_cells), rng)
        for _ in range(_TRIES)
    ]
    least = min(range(_TRIES), key=lambda i: tries[i][0])
    return tries[least][1], np.square(width) / 12


def _size(points: float, k: int, columns: int) -> int:
    """Return the number of cells along each column."""
    target = max(points / _NOISY, 1.0) ** (2 * columns / (2 + columns))
    most = int(_CELLS ** (1 / columns) + 1e-9)
    return max(2, min(most, int(max(target, 4.0 * k) ** (1 / columns))))


def cells(whole: Ids, limits: Ids, size: int) -> Ids:
    """Count the points in each cell of a grid; the cell of a point depends only on the point."""
    at = (whole + limits) * size // (2 * limits + 1)
    places = np.zeros(len(whole), dtype=np.int64)
    for column in at.T:
        places = places * size + column
    counts: Ids = np.bincount(places, minlength=size ** len(limits)).astype(np.int64)
    return counts


def _weighted(
    middles: Floats, weights: Floats, k: int, scale: float, rng: Generator
) -> tuple[float, Floats]:
    """Return k-means centres of cells with noisy weights, and their weighted inertia.

    Starts are cells clearly above the noise, far from each other. Negative weights count in means,
    too: otherwise empty cells would pull all centres to the middle.
    """
    clear = np.where(weights > 2 * scale, weights, 0.0)
    chances = clear if clear.any() else np.ones(len(weights))
    centres = middles[rng.choice(len(middles), size=1, p=chances / chances.sum())]
    while len(centres) < k:
        far = squares(middles, centres).min(axis=1) * chances
        far = far if far.any() else np.ones(len(weights))
        centres = np.vstack([centres, middles[rng.choice(len(middles), p=far / far.sum())]])
    low, high = middles.min(axis=0), middles.max(axis=0)
    for _ in range(_TURNS):
        places = nearest(middles, centres)
        total = np.bincount(places, weights, minlength=k)
        error = scale * np.sqrt(2.0 * np.bincount(places, minlength=k))
        sums = [np.bincount(places, weights * x, minlength=k) for x in middles.T]
        sure = total > np.maximum(2 * error, 0.5)
        moved = centres.copy()
        moved[sure] = np.stack(sums, axis=1)[sure] / total[sure, None]
        moved = np.clip(moved, low, high)
        if (moved == centres).all():
            break
        centres = moved
    return float(weights @ squares(middles, centres).min(axis=1)), centres


def totals(whole: Ids, places: Ids, k: int) -> tuple[Ids, Ids]:
    """Return the exact number of points of each centre, and their sums (k, d)."""
    counts = np.bincount(places, minlength=k).astype(np.int64)
    sums = np.zeros((k, whole.shape[1]), dtype=np.int64)
    for i in range(k):
        sums[i] = whole[places == i].sum(axis=0)
    return counts, sums


def _moved(
    centres: Floats,
    error: Floats,
    exact: tuple[Ids, Ids],
    scales: tuple[Fraction, Fraction],
    rng: Generator,
) -> tuple[Floats, Flags]:
    """Return centres moved towards noisy means, and which of them seem to have no points.

    `error` (d,) is the squared error of the current centres. That of a noisy mean follows from the
    scales and the noisy count.
    """
    counts, sums = exact
    noisy = add(counts, discrete_laplace(scales[0], counts.size, rng))
    noise = discrete_laplace(scales[1], sums.size, rng).reshape(sums.shape)
    points = np.maximum(noisy, 1.0)[:, None]
    means = add(sums, noise) / points
    spread = np.hypot(float(scales[1]), centres * float(scales[0])) / points
    trust = error / (error + 2 * np.square(spread))
    lost = noisy < max(1.0, 2 * float(scales[0]))
    return np.where(lost[:, None], centres, centres + trust * (means - centres)), lost
