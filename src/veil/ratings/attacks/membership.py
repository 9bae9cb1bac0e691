"""Decide whether a user's ratings, or one of her ratings, were used at all."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.outcome import Choice
from veil.core.types import Floats, Ids
from veil.measures.bounds import ERROR, lower_share, upper_share
from veil.ratings.attack import Attack, Scene, Target
from veil.ratings.attacks.attribute import area
from veil.ratings.mechanism import Mechanism
from veil.ratings.protect import protect
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model, Recommender
from veil.ratings.recommenders import recommender
from veil.ratings.recommenders.neighbours import ItemLists
from veil.ratings.release import Release
from veil.ratings.split import split

_ERROR = 0.0125  # error of each of two bounds: both hold with 97.5 % confidence
_FEW = 0.01  # share of non-members mistaken for members


def decide_by_threshold(
    members: Floats, others: Floats, rng: Generator, claim: Guarantee | None, unit: str
) -> Choice:
    """Choose a threshold on one half of both groups, and decide by it on the other half.

    If `claim` bounds the advantage, the details include the bound.
    """
    if min(len(members), len(others)) < 4:
        raise InputError("Membership needs at least four members and four non-members.")
    tuning, judged = zip(_halves(members, rng), _halves(others, rng), strict=True)
    cut, strict = threshold(*tuning), quantile(tuning[1])
    decisions = [(group > cut).astype(np.float64) for group in judged]
    details = {
        "auc": area(members, others),
        "true positives": float(decisions[0].mean()),
        "false positives": float(decisions[1].mean()),
        "true positives at 1 % false": float((judged[0] > strict).mean()),
        "at least": _at_least(*decisions),
    }
    bound = dp_bound(claim)
    if bound is not None:
        details |= {"proved bound": bound, "exceeds it": float(details["at least"] > bound)}
    return Choice(
        unit=unit,
        decisions=np.concatenate(decisions) > 0,
        inside=np.arange(len(judged[0]) + len(judged[1])) < len(judged[0]),
        scores=np.concatenate(judged),
        upper=_at_most(*decisions),
        details=details,
    )


def threshold(members: Floats, others: Floats) -> float:
    """Return the threshold with the largest TPR - FPR.

    >>> threshold(np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    2.0
    """
    cuts = np.unique(np.concatenate([members, others]))
    above = [
        1 - np.searchsorted(np.sort(group), cuts, "right") / len(group)
        for group in (members, others)
    ]
    return float(cuts[np.argmax(above[0] - above[1])])


def quantile(others: Floats) -> float:
    """Return the threshold that at most one non-member in a hundred exceeds."""
    return float(np.quantile(others, 1 - _FEW, method="higher"))


def dp_bound(claim: Guarantee | None) -> float | None:
    r"""Return the largest TPR - FPR under user-level differential privacy, or None without it.

    .. math:: \frac{e^\varepsilon - 1 + 2\delta}{e^\varepsilon + 1}

    References
    ----------
    Humphries et al. Investigating Membership Inference Attacks under Data Dependencies. CSF 2023,
    Theorem 3.2 (for independently drawn members, as here).
    """
    if (
        claim is None
        or claim.kind != "dp"
        or claim.unit != "user"
        or not math.isfinite(claim.epsilon)
    ):
        return None
    low = math.exp(-claim.epsilon)
    return min(1.0, (1 - low + 2 * claim.delta * low) / (1 + low))


def _halves(group: Floats, rng: Generator) -> tuple[Floats, Floats]:
    order: Ids = rng.permutation(len(group))
    middle = len(group) // 2
    return group[order[:middle]], group[order[middle:]]


def _at_least(members: Floats, others: Floats) -> float:
    """Return a lower bound of the true advantage, by exact bounds on both shares."""
    low = lower_share(int(members.sum()), len(members), _ERROR)
    return low - upper_share(int(others.sum()), len(others), _ERROR)


def _at_most(members: Floats, others: Floats) -> float:
    """Return an upper bound of the true advantage, with 97.5 % confidence."""
    high = upper_share(int(members.sum()), len(members), ERROR / 2)
    return max(0.0, high - lower_share(int(others.sum()), len(others), ERROR / 2))


_RIDGE, _SHRINK = 0.2, 5.0  # of a user's vector; pseudo-ratings of 0 added to her profile


@dataclass(frozen=True, eq=False, repr=False)
class Suspects:
    """Profiles of all possible members, with the items of the model.

    Being a suspect reveals nothing about membership: the attacker may know everybody.
    """

    data: Ratings
    positive: float

    def likes(self, user: int) -> Ids:
        """Return the items that a user likes."""
        rows = self.data.rows(user)
        return self.data.item[rows][self.data.value[rows] >= self.positive].astype(np.int64)

    def residual(self, user: int, means: Floats) -> tuple[Ids, Floats]:
        """Return a user's items, and her ratings minus the item means and her own mean."""
        rows = self.data.rows(user)
        items = self.data.item[rows].astype(np.int64)
        residual = np.asarray(self.data.value[rows] - means[items], dtype=np.float64)
        return items, residual - residual.sum() / (len(residual) + _SHRINK)


def statistics(model: Model, suspects: Suspects) -> Floats:
    """Return the statistic (n,) of all suspects that suits the public part of the model."""
    lists = getattr(model, "neighbours", None)
    if isinstance(lists, ItemLists):
        return _of_lists(lists, suspects)
    shown = {**vars(model), **getattr(model, "public", {})}
    square, wide = (suspects.data.m, suspects.data.m), suspects.data.m
    for name in ("gram", "weights", "likes", "factors", "items"):
        array = shown.get(name)
        if not isinstance(array, np.ndarray) or len(array) != wide:
            continue
        matrix = np.asarray(array, dtype=np.float64)
        if name == "gram" and matrix.shape == square:
            return _of_covariance(matrix, _means(shown, suspects), suspects)
        if name == "weights" and matrix.shape == square:
            return _of_weights(matrix, suspects)
        if name == "likes":
            return _of_counts(matrix, suspects)
        if name in ("factors", "items"):
            return _of_factors(matrix, _means(shown, suspects), suspects)
    raise InputError(
        "membership needs a model with neighbour lists, weights, counts, covariances or item"
        " factors. Use another attack for this one."
    )


def _of_lists(lists: ItemLists, suspects: Suspects) -> Floats:
    """Return the mean over liked i of the sum of sim_ij over the liked j in the list of i."""
    values, liked = np.zeros(suspects.data.n), np.zeros(suspects.data.m + 1, dtype=bool)
    for user in range(suspects.data.n):
        own = suspects.likes(user)
        liked[own] = True
        near = liked[lists.index[own]] & (lists.index[own] >= 0)
        values[user] = (lists.sims[own] * near).sum() / max(1, len(own))
        liked[own] = False
    return values


def _of_weights(weights: Floats, suspects: Suspects) -> Floats:
    """Return the mean over liked i of the contribution of all liked j to its score."""
    profiles = (suspects.likes(user) for user in range(suspects.data.n))
    return np.array(
        [weights[np.ix_(likes, likes)].sum() / max(1, len(likes)) for likes in profiles]
    )


def _of_counts(likes: Floats, suspects: Suspects) -> Floats:
    """Return by how much the liked items are more frequent in the model than among all suspects.

    References
    ----------
    Homer et al. Resolving Individuals Contributing Trace Amounts of DNA to Highly Complex Mixtures
    Using High-Density SNP Genotyping Microarrays. PLoS Genetics 4(8), 2008.
    """
    data = suspects.data
    rows = data.value >= suspects.positive
    expected = (np.bincount(data.item[rows], minlength=data.m) + 0.5) / (data.n + 1)
    counted = likes * (expected.sum() / max(likes.sum(), 1.0))
    excess = (counted - expected) / (expected * (1 - expected))
    base = float((excess * expected).sum())
    return np.array([excess[suspects.likes(user)].sum() - base for user in range(data.n)])


def _of_covariance(gram: Floats, means: Floats, suspects: Suspects) -> Floats:
    """Return x'(G - G_suspects)x / |x|^2, both sums divided by their traces."""
    data = suspects.data
    rows = [suspects.residual(user, means) for user in range(data.n)]
    public = np.zeros_like(gram)
    for items, residual in rows:
        public[np.ix_(items, items)] += np.outer(residual, residual)
    difference = gram / np.trace(gram) - public / np.trace(public)
    values = np.zeros(data.n)
    for user, (items, residual) in enumerate(rows):
        length = float(residual @ residual)
        values[user] = (
            residual @ difference[np.ix_(items, items)] @ residual / length if length else 0.0
        )
    return values


def _of_factors(factors: Floats, means: Floats, suspects: Suspects) -> Floats:
    """Return minus the mean squared error of the item factors on each profile."""
    values, wide = np.zeros(suspects.data.n), factors.shape[1]
    for user in range(suspects.data.n):
        items, residual = suspects.residual(user, means)
        own = factors[items]
        vector = np.linalg.solve(own.T @ own + _RIDGE * np.eye(wide), own.T @ residual)
        values[user] = -float(np.square(residual - own @ vector).mean()) if len(items) else 0.0
    return values


def _means(shown: dict[str, object], suspects: Suspects) -> Floats:
    """Return the item means (m,) of the model, or of all suspects."""
    means = shown.get("means")
    if isinstance(means, np.ndarray) and means.shape == (suspects.data.m,):
        return means
    data = suspects.data
    whole = float(np.mean(data.value))
    total = np.bincount(data.item, data.value, data.m) + _SHRINK * whole
    return np.asarray(total / (data.per_item + _SHRINK), dtype=np.float64)


class Membership(Attack):
    r"""Decide who is in a model by one statistic of each profile.

    For users: each user is a member by a fair coin. The statistic is, for lists of
    neighbours, the mean over liked i of the sum of :math:`s_{ij}` over liked j; for counts, by how
    much liked items are more frequent than among all users; for a covariance G,
    :math:`x'(G - G_{public})x / |x|^2`; for item factors, minus the loss of the profile. From
    released ratings the attacker first trains a model, the `learner`.

    For ratings: the score of a liked training item against that of a held-out liked item of the
    same user.

    The threshold is chosen on one half of both groups; success is TPR - FPR on the other half.
    Under (epsilon, delta)-DP of users it is at most :math:`(e^\varepsilon - 1 + 2\delta)/
    (e^\varepsilon + 1)`, since members are drawn independently. `details` states whether the
    measured advantage certainly exceeds that.

    References
    ----------
    Shokri et al. Membership Inference Attacks Against Machine Learning Models. IEEE S&P 2017.
    doi:10.1109/SP.2017.41
    Yeom et al. Privacy Risk in Machine Learning. CSF 2018, Definition 4 (advantage).
    doi:10.1109/CSF.2018.00027
    """

    name: ClassVar[str] = "membership"
    fits: ClassVar[bool] = True
    of: Annotated[Literal["user", "rating"], Field(description="what may be a member")] = "user"
    learner: Annotated[str, Field(description="recommender trained on released ratings")] = (
        "itemknn(k=20)"
    )
    size: Annotated[
        int, Field(ge=0, description="mean number of training users; 0 means half of them")
    ] = 0

    @override
    def run(self, scene: Scene) -> Choice:
        return self._users(scene) if self.of == "user" else self._ratings(scene)

    def _users(self, scene: Scene) -> Choice:
        truth, target, rng = scene.truth, scene.target, scene.rng
        active = np.flatnonzero(truth.per_user > 0)
        if isinstance(target, Recommender | Mechanism):
            if self.size:
                pool = rng.permutation(active)[: 2 * self.size]
                active = np.sort(pool)
            inside = active[rng.random(len(active)) < 1 / 2]
            if not len(inside):
                raise InputError("There are too few users. Membership needs more.")
            target = _train_on(target, truth.of_users(inside), scene)
        else:
            inside = _inside(target, truth)
        model, claim = self._model(target, scene)
        suspects = Suspects(truth.of_users(active), scene.positive)
        if model.train.items != suspects.data.items:
            raise InputError("The truth must have the items of the model. Load it with them.")
        values = statistics(model, suspects)
        member = np.isin(active, inside)
        return decide_by_threshold(values[member], values[~member], rng, claim, "user")

    def _model(self, target: Target, scene: Scene) -> tuple[Model, Guarantee]:
        """Return the model that the attacker inspects, and its guarantee."""
        if isinstance(target, Model):
            return target, target.guarantee
        if not isinstance(target, Release):
            raise InputError("Membership needs a release, a model, or the spec of one.")
        if target.model is not None:
            return target.model, target.cost
        assert target.data is not None  # noqa: S101 - a release has one or the other
        learnt = recommender(self.learner).fit(target.data, scene.positive, scene.rng)
        return learnt, target.cost

    def _ratings(self, scene: Scene) -> Choice:
        target, truth = scene.target, scene.truth
        if isinstance(target, Recommender):
            target = target.fit(split(truth)[0], scene.positive, scene.rng)
        if not isinstance(target, Model):
            raise InputError("Membership of a rating needs a recommender or a model.")
        unseen = _held_out(target, truth, scene.positive)
        scores = []
        for user, items in unseen.items():
            rows = target.train.rows(user)
            own = target.train.item[rows][target.train.value[rows] >= scene.positive]
            if len(own):
                pair = [int(scene.rng.choice(own)), int(scene.rng.choice(items))]
                scores.append(target.scores(np.array([user]))[0, pair])
        if not scores:
            raise InputError("The truth has no held-out like. Pass more ratings.")
        pairs: Floats = np.array(scores)
        return decide_by_threshold(pairs[:, 0], pairs[:, 1], scene.rng, None, "rating")


def _train_on(target: Recommender | Mechanism, part: Ratings, scene: Scene) -> Target:
    if isinstance(target, Recommender):
        return target.fit(part, scene.positive, scene.rng)
    return protect(part, target, rng=scene.rng)


def _inside(target: Target, truth: Ratings) -> Ids:
    """Return the users in an existing release or model, which must not be all users."""
    if isinstance(target, Release) and target.rows is not None:
        inside = np.unique(np.asarray(target.rows, dtype=np.int64))
    else:
        model = target.model if isinstance(target, Release) else target
        users = model.train.users if isinstance(model, Model) else ()
        positions = truth.user_positions
        inside = np.array([positions[name] for name in users if name in positions], dtype=np.int64)
    if len(inside) == truth.n or not len(inside):
        raise InputError(
            "Membership needs users who are not in the release. Pass the spec instead, and one"
            " half of the users is trained on."
        )
    return inside


def _held_out(model: Model, truth: Ratings, positive: float) -> dict[int, Ids]:
    """Return the held-out liked items, by user of the model."""
    user_at, item_at = model.train.user_positions, model.train.item_positions
    users = np.array([user_at.get(name, -1) for name in truth.users], dtype=np.int64)
    items = np.array([item_at.get(name, -1) for name in truth.items], dtype=np.int64)
    rows = (truth.value >= positive) & (users[truth.user] >= 0) & (items[truth.item] >= 0)
    user, item = users[truth.user[rows]], items[truth.item[rows]]
    trained = model.train.user.astype(np.int64) * model.train.m + model.train.item
    new = ~np.isin(user * model.train.m + item, trained)
    order = np.argsort(user[new], kind="stable")
    of, what = user[new][order], item[new][order]
    cuts = np.flatnonzero(np.diff(of)) + 1
    heads = of[np.concatenate([[0], cuts])] if len(of) else of
    return dict(zip(heads.tolist(), np.split(what, cuts), strict=False))
