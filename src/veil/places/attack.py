r"""Attack a release: which address is behind each point, or where a point was.

Where a point was, on average: the posterior mean, and how far from the truth it lies.

.. math:: \hat x = \sum_y P(y \mid z_1 \dots z_m)\, y
"""

from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError
from veil.core.estimate import Estimate, bootstrap
from veil.core.types import Floats, Ids
from veil.places.attacker import BLOCK, Attack, Found, Scene, Truth
from veil.places.attacks import ATTACKS
from veil.places.attacks.addresses import log_posteriors
from veil.places.crs import from_lonlat
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import MECHANISMS
from veil.places.mechanisms import mechanism as method_of
from veil.places.neighbours import tree
from veil.places.points import Points
from veil.places.projection import Surface, blocks, common, degrees, distance
from veil.places.release import Masked, Release, crs_of, releases_of

SAME = 1e-6  # metres within which an entry of the register is a true point


def attack(
    masked: Masked,
    original: Points,
    register: Points | None,
    attacker: str | Attack = "bayes",
    method: str | Mechanism | None = None,
    *,
    population: Points | None = None,
    rounding: float = 0.0,
    same: float = SAME,
) -> Found:
    """Guess the address behind each released point, and score the guesses by the originals.

    Parameters
    ----------
    masked
        Points, a Release, or an array (m, n, 2) of m releases of the same n points, in the order
        of `original`.
    register
        Addresses with weights, which the attacker guesses from; None for `home`.
    attacker
        Spec: nearest, bayes, average, matching, align or home.
    method
        Spec of the method, for who knows it. `bayes` needs it, and takes it from a Release that
        says so.
    population
        What the method was handed as population; the register if nothing is told.
    rounding
        Metres by which released coordinates may be off because a file was written with few
        digits: the edges of laws are moved by that.
    same
        Metres within which an entry of the register is a true point.

    Raises
    ------
    InputError
        If none of the points is in the register: nobody could be found, and nothing would follow.
    """
    by = ATTACKS.parse(attacker) if isinstance(attacker, str) else attacker
    law = _told(masked, by, method)
    if law is not None and rounding:
        law = method_of(law).blurred(rounding)
    scene = scene_of(masked, original, register, law, population)
    if len(original) != scene.releases.shape[1]:
        raise InputError(
            f"There must be as many released points as originals, in the same order:"
            f" {len(original):,} and not {scene.releases.shape[1]:,}."
        )
    known = original.xy[: by.knows] if by.knows else None
    told = Scene(
        scene.releases, scene.on, register, scene.method, scene.population, known,
        original.users, original.times,
    )  # fmt: skip
    entries = np.full((len(original), 1), -1, dtype=np.int64)
    if register is not None:
        entries = true_entries(original, register, scene.on, same)
    truth = Truth(original, entries)
    if register is not None and truth.absent == len(original):
        raise InputError(
            "None of the original points is in the register, so that no attack on it says anything"
            " about them; hand in a register that lists them, in the same coordinates."
        )
    return by.found(told, truth)


def scene_of(
    masked: Masked,
    beside: Points,
    register: Points | None,
    method: str | Mechanism | None,
    population: Points | None = None,
) -> Scene:
    """Return what is to be seen; all points must have one coordinate system."""
    releases = releases_of(masked)
    codes = [crs_of(masked, beside), beside.crs, *([register.crs] if register else [])]
    law = None if method is None else method_of(method)
    return Scene(releases, common(*codes), register, law, population or register)


def true_entries(original: Points, register: Points, on: Surface, same: float = SAME) -> Ids:
    """Return the entries (n, g) of the register at each true point, padded with -1.

    Several may be at one place: whichever is guessed first counts, so that nothing is hidden by
    an address that is listed twice.
    """
    reach = float(on.chord(np.array(same)))
    found = tree(on.embed(register.xy)).query_ball_point(on.embed(original.xy), reach)
    counts = np.array([len(one) for one in found])
    entries = np.full((len(original), max(1, int(counts.max()))), -1, dtype=np.int64)
    entries[np.arange(entries.shape[1]) < counts[:, None]] = np.concatenate(found)
    return entries


def _told(masked: Masked, by: Attack, method: str | Mechanism | None) -> str | Mechanism | None:
    """Return what the attacker knows of the method; for bayes also what the release says."""
    if method is None and by.name == "bayes" and isinstance(masked, Release):
        return MECHANISMS.parse(masked.method)
    return method


@dataclass(frozen=True)
class Localised:
    """How well points are localised: the mean error in metres, and what that is as a risk.

    Attributes
    ----------
    error
        Mean distance from the posterior mean to the true point.
    without
        The same for who has the register and no release.
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
    """Return the posterior means (n, 2), in the coordinates of the register.

    On the sphere it is the direction of the mean of the unit vectors. Where no entry could have
    become the release it is the mean of the register: the release says nothing of that law.
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
    nowhere = ~np.isfinite(top[:, 0])
    chances -= np.where(np.isfinite(top), top, 0.0)
    np.exp(chances, out=chances)
    if nowhere.any():
        weights = scene.listed("localise").weights
        chances[nowhere] = 1.0 if weights is None else weights
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
    there = localise(masked, register, method, population=population)
    weights = np.ones(len(register)) if register.weights is None else register.weights
    scene = scene_of(masked, original, register, method)
    mean = (weights @ scene.on.embed(register.xy) / weights.sum())[None]
    blind = mean if register.crs is None else from_lonlat(degrees(mean), register.crs)
    error = bootstrap(distance(there, original.xy, register.crs))
    without = bootstrap(
        distance(np.repeat(blind, len(original), axis=0), original.xy, register.crs)
    )
    gained = 1 - float(error) / float(without) if float(without) > 0 else 0.0
    return Localised(error, without, min(1.0, max(0.0, gained)))
