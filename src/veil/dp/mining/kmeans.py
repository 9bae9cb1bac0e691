"""Centres of clusters from noisy counts and sums."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.exact.grid import grid, steps
from veil.dp.exact.samplers import discrete_laplace
from veil.dp.inputs import count, positive
from veil.dp.mechanism import add, pure_guarantee
from veil.dp.mining.columns import CHOSEN, numbers, ranges

_BLOCK = 2**16  # rows at a time
_SAMPLES, _ROUNDS = 200, 10  # uniform points for each centre, and how often they are averaged


def nearest(points: Floats, centres: Floats) -> Ids:
    """Return the place of the nearest centre of each point; of equal ones the first.

    Only sums, differences and products of single numbers in a fixed order are taken, which every
    machine rounds alike: what one point gets does not depend on which others there are, as it
    could in a product of matrices.
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
    drawn: Floats = low + rng.random((count, len(box))) * (high - low)
    return drawn


def starts(k: int, box: Floats, rng: Generator) -> Floats:
    """Spread k centres over a box: those of uniform points, and of no data."""
    points = anywhere(_SAMPLES * k, box, rng)
    centres = points[:k].copy()
    for _ in range(_ROUNDS):
        places = nearest(points, centres)
        for i in np.unique(places):
            centres[i] = points[places == i].mean(axis=0)
    return centres


_BITS = 26  # a step is below the sum of the half widths by at least that many
_MOST = 2**62


@dataclass(frozen=True, eq=False)
class KMeans:
    """The centres (k, d) of clusters, and what they cost."""

    centres: Floats
    cost: Guarantee
    seeded: bool = False

    def predict(self, points: object) -> Ids:
        """Return the place of the nearest centre of each point."""
        return nearest(numbers(points, "Points", self.centres.shape[1]), self.centres)


@dataclass(frozen=True)
class Box:
    """Public bounds (d, 2) as whole numbers of steps around the middle of each column.

    One point is at most `limits` steps from the middle, and adds at most `sensitivity` to all sums
    together, for the numbers as they are computed: they are cut after they are rounded.
    """

    bounds: Floats

    @property
    def middle(self) -> Floats:
        """The middle of each column."""
        found: Floats = self.bounds[:, 0] / 2 + self.bounds[:, 1] / 2
        return found

    @property
    def step(self) -> Fraction:
        """The grid, from the bounds alone."""
        widths = [Fraction(high) - Fraction(low) for low, high in self.bounds.tolist()]
        return grid(sum(widths, Fraction(0)) / 2, bits=_BITS)

    @property
    def limits(self) -> Ids:
        """The steps from the middle to the farther end of each column."""
        ends = steps(self.bounds - self.middle[:, None], self.step)
        found: Ids = np.abs(ends).max(axis=1)
        return found

    @property
    def sensitivity(self) -> int:
        """What one point adds to all sums together, at the most (L1)."""
        return int(self.limits.sum())

    def stepped(self, points: Floats) -> Ids:
        """Cut points to the bounds, and round them to steps from the middle."""
        cut = np.clip(points, self.bounds[:, 0], self.bounds[:, 1])
        return np.clip(steps(cut - self.middle, self.step), -self.limits, self.limits)

    def unstepped(self, k: Floats) -> Floats:
        """Return steps as numbers within the bounds."""
        found = self.middle + k * float(self.step)
        return np.clip(found, self.bounds[:, 0], self.bounds[:, 1])


def kmeans(
    points: object,
    k: int,
    epsilon: float,
    bounds: object,
    *,
    rounds: int = 5,
    rng: Randomness = None,
) -> KMeans:
    r"""Find k centres by Lloyd's rounds, each from noisy counts and sums.

    In each of T rounds the points of each centre are counted, and x - middle of the bounds is
    summed up, in whole numbers of steps of a grid. A point is of one centre, so that counts have
    the L1 sensitivity 1, and sums that of the half widths of all bounds together; each gets
    epsilon/(2T). A centre that has no more points than its noise tells is put back at random.

    Proved: epsilon-DP for the numbers as they are computed.

    Parameters
    ----------
    points
        Numbers (n, d), which are cut to the bounds.
    k
        How many centres.
    epsilon
        What all rounds together cost.
    bounds
        A pair (low, high) for each column, or one for all, which are public: not the least and the
        largest number of the data.
    rounds
        T, fixed beforehand.
    rng
        None for fresh randomness of the operating system. A seed or a generator is for
        experiments: the centres are marked as seeded and **not private**.

    References
    ----------
    Blum, Dwork, McSherry, Nissim. Practical Privacy: The SuLQ Framework. PODS 2005, Section 5.1.
    doi:10.1145/1065167.1065184
    Su, Cao, Li, Bertino, Jin. Differentially Private K-Means Clustering. CODASPY 2016.
    doi:10.1145/2857705.2857708

    Examples
    --------
    >>> found = kmeans([[0.1], [0.2], [0.8]] * 50, 2, 1e6, (0, 1), rng=1)
    >>> np.sort(found.centres.ravel()).round(2).tolist()
    [0.15, 0.8]
    """
    epsilon = positive("epsilon", epsilon)
    k, rounds = count("k", k), count("rounds", rounds)
    given = numbers(points, "Points")
    box = Box(ranges(bounds, given.shape[1]))
    if (box.limits == 0).any():
        raise ParameterError("Bounds must not be too narrow beside those of other columns.")
    if len(given) * int(box.limits.max()) > _MOST:
        raise InputError("There are too many points for sums of 64 bits.")
    draws = generator(rng)
    whole = box.stepped(given)
    ends = np.stack([-box.limits, box.limits], axis=1).astype(np.float64)
    centres = starts(int(k), ends, draws)
    share = Fraction(epsilon) / (2 * int(rounds))
    for _ in range(int(rounds)):
        counts, sums = totals(whole, nearest(whole.astype(np.float64), centres), int(k))
        scales = 1 / share, box.sensitivity / share
        centres = _moved(counts, sums, scales, ends, draws)
    cost = pure_guarantee(float(epsilon), caveat=CHOSEN)
    return KMeans(box.unstepped(centres), cost, rng is not None)


def totals(whole: Ids, places: Ids, k: int) -> tuple[Ids, Ids]:
    """Return how many points each centre has, and their sums (k, d), exactly."""
    counts = np.bincount(places, minlength=k).astype(np.int64)
    sums = np.zeros((k, whole.shape[1]), dtype=np.int64)
    for i in range(k):
        sums[i] = whole[places == i].sum(axis=0)
    return counts, sums


def _moved(
    counts: Ids, sums: Ids, scales: tuple[Fraction, Fraction], ends: Floats, rng: Generator
) -> Floats:
    """Add noise of two scales, and average; put lost centres anywhere."""
    noisy = add(counts, discrete_laplace(scales[0], counts.size, rng))
    noise = discrete_laplace(scales[1], sums.size, rng).reshape(sums.shape)
    centres = add(sums, noise) / np.maximum(noisy, 1)[:, None]
    lost = noisy < max(1.0, 2 * float(scales[0]))
    centres[lost] = anywhere(int(lost.sum()), ends, rng)
    return np.clip(centres, ends[:, 0], ends[:, 1])
