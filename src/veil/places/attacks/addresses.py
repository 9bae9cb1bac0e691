"""Attacks that guess addresses: nearest, average, Bayes, alignment and matching.

`localise` guesses the place itself: the posterior mean.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError, MissingExtraError
from veil.core.estimate import Estimate, bootstrap
from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.places.attack import BLOCK, Attack, Ranker, Scene, Truth, scene_of, single_guess
from veil.places.crs import from_lonlat
from veil.places.mechanism import Mechanism
from veil.places.points import Points
from veil.places.projection import Flat, blocks, degrees, distance, middle, pairs
from veil.places.release import Masked


class Nearest(Ranker):
    r"""Order addresses by their distance to the released point.

    .. math:: d(z, y)

    The attacker need not know the mechanism. It uses only the first of several releases.
    """

    name: ClassVar[str] = "nearest"
    relative: ClassVar[float] = 1e-12

    @override
    def scores(self, scene: Scene, rows: slice) -> Floats:
        return nearness(scene, scene.releases[0, rows], self.name)


def nearness(scene: Scene, places: Floats, by: str) -> Floats:
    """Return the negative distances (b, m) from places (b, 2) to the addresses of the register."""
    on = scene.on
    away = pairs(on, on.embed(places), on.embed(scene.listed(by).xy))
    away *= -1
    return away


class Average(Ranker):
    r"""Order addresses by their distance to the mean of the m releases of a point.

    .. math:: d\left(\tfrac1m \sum_j z_j,\, y\right)

    The attack shows the cost of drawing fresh noise for each release, and needs no knowledge of
    the mechanism. On the sphere, the mean is that of the unit vectors.
    """

    name: ClassVar[str] = "average"
    relative: ClassVar[float] = 1e-12

    @override
    def scores(self, scene: Scene, rows: slice) -> Floats:
        return nearness(scene, middle(scene.releases[:, rows], scene.on.crs), self.name)


class Bayes(Ranker):
    r"""Order addresses by how likely they are, given all m releases of a point.

    .. math:: P(y \mid z_1 \dots z_m) \propto w_y \prod_j f(z_j \mid y)

    in logarithms. With several releases it is the composition attack. No other order identifies
    more points in expectation, if the weights are correct and the release is only the mechanism's
    output, without snapping, remapping or a region.
    """

    name: ClassVar[str] = "bayes"
    absolute: ClassVar[float] = 1e-9

    def scores(self, scene: Scene, rows: slice) -> Floats:
        """Return log posteriors, without the constant of each row."""
        return log_posteriors(scene, rows)


def log_posteriors(scene: Scene, rows: slice, by: str = "bayes") -> Floats:
    """Return log w_y + sum_j log f(z_j|y), (b, m), for some rows of the releases."""
    method, register = scene.law(by), scene.listed(by)
    laws = (
        method.log_density(released[rows], register.xy, scene.on, scene.population)
        for released in scene.releases
    )
    total = next(laws)
    for law in laws:
        total += law
    if register.weights is not None:
        with np.errstate(divide="ignore"):  # nobody lives there
            total += np.log(register.weights)
    return total


class Align(Ranker):
    r"""Fit the similarity transformation from released to true places of a few known points.

    .. math:: x \approx a z + b, \quad
       a = \frac{\sum_k \overline{(z_k - \bar z)} (x_k - \bar x)}{\sum_k |z_k - \bar z|^2}

    with complex numbers for places, by least squares. The first guess is the address nearest to
    a z + b. It uses only the first of several releases. The known points are the first rows, which
    are scored like all others.
    """

    name: ClassVar[str] = "align"
    relative: ClassVar[float] = 1e-12
    known: Annotated[
        int, Field(ge=1, le=1_000, description="rows whose true place is known", examples=[2])
    ] = 2

    @property
    @override
    def knows(self) -> int:
        return self.known

    @override
    def scores(self, scene: Scene, rows: slice) -> Floats:
        return nearness(scene, undo_transformation(scene)[rows], self.name)


def undo_transformation(scene: Scene) -> Floats:
    """Return the released points (n, 2) with the fitted transformation undone."""
    if scene.known is None or not len(scene.known):
        raise InputError("The attacker align needs points whose true place is known.")
    flat = Flat.around(scene.releases[0], scene.on.crs)
    released = flat.metres(scene.releases[0])
    ratio, shift = similarity(released[: len(scene.known)], flat.metres(scene.known))
    restored = (released[:, 0] + 1j * released[:, 1]) * ratio + shift
    return flat.back(np.column_stack([restored.real, restored.imag]))


def similarity(released: Floats, true: Floats) -> tuple[complex, complex]:
    """Return a and b of x = a z + b for places z (k, 2) and x (k, 2); a = 1 if undetermined.

    >>> similarity(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[5.0, 5.0], [5.0, 7.0]]))
    (2j, (5+5j))
    """
    z, x = released[:, 0] + 1j * released[:, 1], true[:, 0] + 1j * true[:, 1]
    away = z - z.mean()
    size = float(np.square(np.abs(away)).sum())
    ratio = complex((away.conj() @ (x - x.mean())) / size) if size > 0 else 1 + 0j
    return ratio, complex(x.mean() - ratio * z.mean())


CELLS = 25_000_000  # entries of the cost matrix: 200 MB


class Matching(Attack):
    r"""Assign released points to addresses one to one, at the least total cost.

    .. math:: \min_\pi \sum_i \sum_j d(z_{ij}, \pi(i))^2 \quad \text{or} \quad
       \min_\pi -\sum_i \sum_j \log f(z_{ij} \mid \pi(i))

    the latter if the attacker knows the mechanism. It makes one guess for each point. If there are
    more points than addresses, some points get none. Addresses at the same place count as one.
    """

    name: ClassVar[str] = "matching"

    @override
    def run(self, scene: Scene, truth: Truth) -> Outcome:
        register = scene.listed(self.name)
        guess = assign(costs(scene))
        right = (guess >= 0) & (guess[:, None] == truth.entries).any(axis=1)
        return single_guess(right, len(register), truth.absent)


def costs(scene: Scene) -> Floats:
    """Return the cost (n, m) of assigning each point to each address."""
    register, on = scene.listed("matching"), scene.on
    n = scene.releases.shape[1]
    if n * len(register) > CELLS:
        raise InputError(
            f"The attacker matching takes at most {CELLS:,} pairs of points and addresses. Got"
            f" {n * len(register):,} instead. Use fewer, or use bayes."
        )
    total = np.zeros((n, len(register)))
    for released in scene.releases:
        if scene.method is None:
            total += np.square(pairs(on, on.embed(released), on.embed(register.xy)))
        else:
            law = scene.law("matching")
            total -= law.log_density(released, register.xy, on, scene.population)
    return _feasible(total)


def assign(cost: Floats) -> Ids:
    """Return the column (n,) assigned to each row, -1 if there is none."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise MissingExtraError(
            "The attacker matching needs scipy: pip install 'veil[places]'."
        ) from error
    rows, columns = linear_sum_assignment(cost)
    assigned = np.full(len(cost), -1, dtype=np.int64)
    assigned[rows] = columns
    return assigned


def _feasible(cost: Floats) -> Floats:
    """Replace infinite costs by finite ones that are only paid if there is no alternative."""
    finite = np.isfinite(cost)
    if finite.all():
        return cost
    span = float(np.ptp(cost[finite])) if finite.any() else 0.0
    top = float(cost[finite].max()) if finite.any() else 0.0
    cost[~finite] = top + (span + 1.0) * min(cost.shape)
    return cost


@dataclass(frozen=True)
class Localised:
    """The mean error in metres of the attacker's best guess of each place, and its risk.

    Attributes
    ----------
    error
        Mean distance from the posterior mean to the true point.
    without
        The same for an attacker who has only the register.
    risk
        1 - error / without, clipped to [0, 1].
    """

    error: Estimate
    without: Estimate
    risk: float


def localise(
    masked: Masked,
    register: Points,
    method: str | Mechanism,
    *,
    population: Points | None = None,
) -> Floats:
    r"""Return the posterior means (n, 2) of the true places, in the coordinates of the register.

    .. math:: \hat x = \sum_y P(y \mid z_1 \dots z_m)\, y

    On the sphere this is the direction of the mean of the unit vectors. If no entry could have
    become the release, it is the mean of the register.
    """
    scene = scene_of(masked, register, register, method, population)
    places = scene.on.embed(register.xy)  # (m, 2) or (m, 3)
    n = scene.releases.shape[1]
    means = np.empty((n, places.shape[1]))
    for rows in blocks(n, len(register), BLOCK):
        means[rows] = posteriors(scene, rows) @ places
    return means if register.crs is None else from_lonlat(degrees(means), register.crs)


def posteriors(scene: Scene, rows: slice) -> Floats:
    """Return P(y|z) (b, m) for some rows of the releases; each row sums to 1."""
    chances = log_posteriors(scene, rows, "localise")
    top = chances.max(axis=1, keepdims=True)
    unexplained = ~np.isfinite(top[:, 0])
    chances -= np.where(np.isfinite(top), top, 0.0)
    np.exp(chances, out=chances)
    if unexplained.any():
        weights = scene.listed("localise").weights
        chances[unexplained] = 1.0 if weights is None else weights
    chances /= chances.sum(axis=1, keepdims=True)
    return chances


def compare_positions(
    masked: Masked,
    original: Points,
    register: Points,
    method: str | Mechanism,
    *,
    population: Points | None = None,
) -> Localised:
    """Compare the posterior means with the true points."""
    guesses = localise(masked, register, method, population=population)
    weights = np.ones(len(register)) if register.weights is None else register.weights
    scene = scene_of(masked, original, register, method)
    mean = (weights @ scene.on.embed(register.xy) / weights.sum())[None]
    blind = mean if register.crs is None else from_lonlat(degrees(mean), register.crs)
    error = bootstrap(distance(guesses, original.xy, register.crs))
    without = bootstrap(
        distance(np.repeat(blind, len(original), axis=0), original.xy, register.crs)
    )
    gained = 1 - float(error) / float(without) if float(without) > 0 else 0.0
    return Localised(error, without, min(1.0, max(0.0, gained)))
