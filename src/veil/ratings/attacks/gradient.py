"""Read ratings off an update of federated training that no secure sum hides."""

from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.estimate import bootstrap
from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.ratings.attack import Attack, Scene, Target
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Recommender

_RIDGE = 0.1  # of the client's own vector, which never leaves


class Update(NamedTuple):
    """The gradient of the items (m, f), and the item factors (m, f), which the server knows."""

    gradient: Floats
    factors: Floats


def update(items: Ids, values: Floats, factors: Floats) -> Update:
    r"""Return the first update of a client with these ratings.

    Her vector p solves a ridge regression on the item factors q; then :math:`g_i = -(r_i - p \cdot
    q_i)\, p` for her items and 0 for all others, without biases, ridge term, clipping or noise.
    """
    own = factors[items]
    square = own.T @ own + _RIDGE * np.eye(factors.shape[1])
    vector = np.linalg.solve(square, own.T @ values)
    gradient = np.zeros_like(factors)
    gradient[items] = -np.outer(values - own @ vector, vector)
    return Update(gradient, factors)


_SPREAD = 0.1  # of the initial item factors


class Gradient(Attack):
    r"""Take the nonzero rows of a client's update as her items, and solve for her values.

    The row of item i is :math:`g_i = -(r_i - p \cdot q_i)\,p`: all rows are parallel to her vector
    p. With d their direction, :math:`a_i = g_i \cdot d` and :math:`b_i = q_i \cdot d`, one unknown
    length s remains in :math:`r_i = -a_i/s + s b_i`. It must make all :math:`r_i` levels of the
    scale. One row and one level give two candidates; all are tried.

    Against a secure sum the attacker has only the sum of all clients, and takes the largest rows,
    as many as the median profile has. The baseline guesses as many of the most popular items.
    Success is the F1 of the items, and a detail is the share of correct values. The update has no
    biases, clipping or noise; clipping would leave the items as visible.
    """

    name: ClassVar[str] = "gradient"
    fits: ClassVar[bool] = True
    clients: Annotated[int, Field(ge=1, description="maximum number of attacked users")] = 200
    step: Annotated[float, Field(gt=0, description="distance between levels of the scale")] = 1.0

    @override
    def run(self, scene: Scene) -> Outcome:
        truth, rng = scene.truth, scene.rng
        able, width = np.flatnonzero(truth.per_user > 0), _width(scene.target)
        users = np.sort(rng.choice(able, size=min(self.clients, len(able)), replace=False))
        factors = rng.normal(0, _SPREAD, (truth.m, width))
        messages = (update(*_profile(truth, user), factors) for user in users.tolist())
        median = round(float(np.median(truth.per_user[able])))
        if getattr(scene.target, "secure", False):
            total = np.sum([message.gradient for message in messages], axis=0)
            loudest = _largest(np.abs(total).sum(axis=1), median)
            guesses = [(loudest, np.empty(0)) for _ in users]
        else:
            guesses = [read(message, truth.scale, self.step) for message in messages]
        return _outcome(truth, users, guesses, _largest(truth.per_item, median))


def _width(target: Target) -> int:
    width = getattr(target, "factors", None)
    central = getattr(target, "name", "") in MECHANISMS.builtin and not hasattr(target, "secure")
    if not isinstance(target, Recommender) or central or not isinstance(width, int):
        raise InputError(
            "gradient needs a recommender that trains by updates of factors. Pass a spec such as"
            " federated(...), or als(factors=8) to attack it as if it were trained that way."
        )
    return width


def read(message: Update, scale: tuple[float, float], step: float) -> tuple[Ids, Floats]:
    """Return the items of an update and their values, which are empty if no length fits."""
    items = np.flatnonzero(np.abs(message.gradient).sum(axis=1) > 0)
    if not len(items):
        return items, np.empty(0)
    rows = message.gradient[items]
    longest = rows[np.argmax(np.einsum("if,if->i", rows, rows))]
    direction = longest / np.linalg.norm(longest)
    along, across = rows @ direction, message.factors[items] @ direction
    low, high = scale
    levels: Floats = low + step * np.arange(round((high - low) / step) + 1.0)
    values, best = np.empty(0), np.inf
    for length in _lengths(float(along[0]), float(across[0]), levels):
        guess = -along / length + length * across
        near = np.clip(np.rint((guess - low) / step), 0, len(levels) - 1)
        off = float(np.abs(guess - levels[near.astype(np.int64)]).max())
        if off < best:
            values, best = levels[near.astype(np.int64)], off
    return items, values


def _lengths(along: float, across: float, levels: Floats) -> list[float]:
    """Return the lengths, of either sign, for which one value is a level: s^2 b - s r - a = 0."""
    if abs(across) < 1e-12:  # the item is orthogonal to the direction
        roots = -along / levels[levels != 0]
    else:
        inside = levels**2 + 4 * across * along
        real = inside >= 0
        root = np.sqrt(inside[real])
        roots = np.concatenate([levels[real] + root, levels[real] - root]) / (2 * across)
    return [float(length) for length in roots if abs(length) > 1e-12]


def _profile(truth: Ratings, user: int) -> tuple[Ids, Floats]:
    rows = truth.rows(user)
    return truth.item[rows].astype(np.int64), np.asarray(truth.value[rows], dtype=np.float64)


def _largest(sizes: Floats | Ids, count: int) -> Ids:
    return np.sort(np.argsort(-sizes, kind="stable")[:count])


def _outcome(
    truth: Ratings, users: Ids, guesses: list[tuple[Ids, Floats]], popular: Ids
) -> Outcome:
    hits, blind, exact, right, rated = [], [], 0, 0, 0
    for user, (items, values) in zip(users.tolist(), guesses, strict=True):
        own, true = _profile(truth, user)
        hits.append(overlap(items, own))
        blind.append(overlap(popular, own))
        same = len(items) == len(own) and bool((items == own).all())
        exact += same
        rated += len(own)
        right += int((values == true).sum()) if same and len(values) == len(true) else 0
    scores = np.array(hits)
    _, sizes = np.unique(truth.value, return_counts=True)
    details = {
        "exact item sets": exact / len(users),
        "values right": right / max(1, rated),
        "most frequent value": float(sizes.max() / len(truth)),
    }
    base = float(np.mean(blind))
    return Outcome(
        subjects=users,
        unit="user",
        per_record=scores,
        baseline=base,
        excess=True,
        mean=bootstrap(scores),
        details=details,
    )


def overlap(guess: Ids, true: Ids) -> float:
    """Return the F1 of a guessed set of items.

    >>> overlap(np.array([1, 2]), np.array([2, 3]))
    0.5
    """
    common = len(np.intersect1d(guess, true, assume_unique=True))
    return 2 * common / max(1, len(guess) + len(true))
