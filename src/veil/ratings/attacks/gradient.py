"""Read ratings off an update of federated training that no secure sum hides."""

from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

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
    """The gradient of the items (m, f), and what the server knows: the item factors (m, f)."""

    gradient: Floats
    factors: Floats


def update(items: Ids, values: Floats, factors: Floats) -> Update:
    r"""Return the first update of a client with these ratings.

    Her vector p solves a ridge regression on the item factors q; then :math:`g_i = -(r_i - p \cdot
    q_i)\, p` for her items and 0 for all others: no biases, no ridge term, no clipping, no noise.
    """
    own = factors[items]
    square = own.T @ own + _RIDGE * np.eye(factors.shape[1])
    vector = np.linalg.solve(square, own.T @ values)
    gradient = np.zeros_like(factors)
    gradient[items] = -np.outer(values - own @ vector, vector)
    return Update(gradient, factors)


_SPREAD = 0.1  # of the item factors that training starts from


class Gradient(Attack):
    r"""Take the rows of a client's update that are not 0 as her items, and solve for her values.

    The row of item i is :math:`g_i = -(r_i - p \cdot q_i)\,p`: all rows are parallel to her vector
    p. With d their direction, :math:`a_i = g_i \cdot d` and :math:`b_i = q_i \cdot d`, one unknown
    length s is left in :math:`r_i = -a_i/s + s b_i`; it is the one that makes all of them levels
    of the scale. One row and one level give two candidates: all are tried.

    Against a secure sum the attacker has the sum of all clients alone, and takes the rows that are
    largest, as many as the median profile has. The baseline guesses the most popular items, as
    many. Success is the F1 of the items; the share of values that are right stands beside it. The
    update is one without biases, clipping or noise; to clip it leaves the items as visible.
    """

    name: ClassVar[str] = "gradient"
    fits: ClassVar[bool] = True
    clients: Annotated[int, Field(ge=1, description="users who are attacked, at most")] = 200
    step: Annotated[float, Field(gt=0, description="how far levels of the scale are apart")] = 1.0

    def run(self, scene: Scene) -> Outcome:
        """Let each client send one update, and read it."""
        truth, rng = scene.truth, scene.rng
        able, width = np.flatnonzero(truth.per_user > 0), _width(scene.target)
        users = np.sort(rng.choice(able, size=min(self.clients, len(able)), replace=False))
        factors = rng.normal(0, _SPREAD, (truth.m, width))
        sent = (update(*_profile(truth, user), factors) for user in users.tolist())
        median = round(float(np.median(truth.per_user[able])))
        if getattr(scene.target, "secure", False):
            total = np.sum([one.gradient for one in sent], axis=0)
            loudest = _largest(np.abs(total).sum(axis=1), median)
            found = [(loudest, np.empty(0)) for _ in users]
        else:
            found = [read(one, truth.scale, self.step) for one in sent]
        return _outcome(truth, users, found, _largest(truth.per_item, median))


def _width(target: Target) -> int:
    """Return the factors of a recommender whose clients send updates."""
    width = getattr(target, "factors", None)
    central = getattr(target, "name", "") in MECHANISMS.builtin and not hasattr(target, "secure")
    if not isinstance(target, Recommender) or central or not isinstance(width, int):
        raise InputError(
            "gradient attacks training by updates of factors: name a spec, as federated(...), or"
            " als(factors=8) as it would be trained so."
        )
    return width


def read(sent: Update, scale: tuple[float, float], step: float) -> tuple[Ids, Floats]:
    """Return the items of an update, and their values; none where no length fits."""
    items = np.flatnonzero(np.abs(sent.gradient).sum(axis=1) > 0)
    if not len(items):
        return items, np.empty(0)
    rows = sent.gradient[items]
    longest = rows[np.argmax(np.einsum("if,if->i", rows, rows))]
    direction = longest / np.linalg.norm(longest)
    along, known = rows @ direction, sent.factors[items] @ direction
    low, high = scale
    levels: Floats = low + step * np.arange(round((high - low) / step) + 1.0)
    values, best = np.empty(0), np.inf
    for length in _lengths(float(along[0]), float(known[0]), levels):
        guess = -along / length + length * known
        near = np.clip(np.rint((guess - low) / step), 0, len(levels) - 1)
        off = float(np.abs(guess - levels[near.astype(np.int64)]).max())
        if off < best:
            values, best = levels[near.astype(np.int64)], off
    return items, values


def _lengths(along: float, known: float, levels: Floats) -> list[float]:
    """Return the lengths, of either sign, that make one value a level: s^2 b - s r - a = 0."""
    if abs(known) < 1e-12:  # the item tells nothing of the direction
        found = -along / levels[levels != 0]
    else:
        inside = levels**2 + 4 * known * along
        real = inside >= 0
        root = np.sqrt(inside[real])
        found = np.concatenate([levels[real] + root, levels[real] - root]) / (2 * known)
    return [float(one) for one in found if abs(one) > 1e-12]


def _profile(truth: Ratings, user: int) -> tuple[Ids, Floats]:
    rows = truth.rows(user)
    return truth.item[rows].astype(np.int64), np.asarray(truth.value[rows], dtype=np.float64)


def _largest(sizes: Floats | Ids, count: int) -> Ids:
    return np.sort(np.argsort(-sizes, kind="stable")[:count])


def _outcome(truth: Ratings, users: Ids, found: list[tuple[Ids, Floats]], popular: Ids) -> Outcome:
    hits, blind, exact, right, rated = [], [], 0, 0, 0
    for user, (items, values) in zip(users.tolist(), found, strict=True):
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
    both = len(np.intersect1d(guess, true, assume_unique=True))
    return 2 * both / max(1, len(guess) + len(true))
