"""Tell whether somebody's ratings, or one rating of hers, were used at all."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.ratings.attacker import Attacker, Outcome, Scene, Target
from veil.ratings.attacks._decision import decided
from veil.ratings.attacks._statistics import Suspects, statistics
from veil.ratings.protect import protect
from veil.ratings.protection import Protection
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model, Recommender
from veil.ratings.recommenders import recommender
from veil.ratings.release import Release
from veil.ratings.split import split


class Membership(Attacker):
    r"""Decide who is in a model by one number that a release shows of a profile.

    Of a user: each of the users trains by the toss of a coin. Of lists of neighbours the number is
    the mean over liked i of the sum of :math:`s_{ij}` over liked j; of counts, how much liked
    items are more frequent than among everybody; of a covariance G,
    :math:`x'(G - G_{public})x / |x|^2`; of item factors, minus the loss of the profile. Of
    released ratings the attacker first learns a model, the `learner`.

    Of a rating: the score of a liked item that was trained on, against one of the same user that
    was held out.

    The threshold is chosen on one half of both groups; success is TPR - FPR on the other half.
    Under (epsilon, delta)-DP of users it is at most :math:`(e^\varepsilon - 1 + 2\delta)/
    (e^\varepsilon + 1)`, since coins are independent; `details` say whether what was measured is
    above that for certain.

    References
    ----------
    Shokri et al. Membership Inference Attacks Against Machine Learning Models. IEEE S&P 2017.
    doi:10.1109/SP.2017.41
    Yeom et al. Privacy Risk in Machine Learning. CSF 2018, Definition 4 (advantage).
    doi:10.1109/CSF.2018.00027
    """

    name: ClassVar[str] = "membership"
    fits: ClassVar[bool] = True
    of: Annotated[Literal["user", "rating"], Field(description="whose presence is asked")] = "user"
    learner: Annotated[str, Field(description="what is learnt of released ratings")] = (
        "itemknn(k=20)"
    )
    size: Annotated[
        int, Field(ge=0, description="users who train, on average; 0: half of them")
    ] = 0

    def run(self, scene: Scene) -> Outcome:
        """Decide on users, or on ratings."""
        return self._users(scene) if self.of == "user" else self._ratings(scene)

    def _users(self, scene: Scene) -> Outcome:
        truth, target, rng = scene.truth, scene.target, scene.rng
        active = np.flatnonzero(truth.per_user > 0)
        if isinstance(target, Recommender | Protection):
            if self.size:
                pool = rng.permutation(active)[: 2 * self.size]
                active = np.sort(pool)
            inside = active[rng.random(len(active)) < 1 / 2]
            if not len(inside):
                raise InputError("Membership needs more users.")
            target = _made(target, truth.of_users(inside), scene)
        else:
            inside = _inside(target, truth)
        model, claim = self._model(target, scene)
        suspects = Suspects(truth.of_users(active), scene.positive)
        if model.train.items != suspects.data.items:
            raise InputError("Membership needs the truth to have the items of the model.")
        found = statistics(model, suspects)
        member = np.isin(active, inside)
        return decided(found[member], found[~member], rng, claim, "user")

    def _model(self, target: Target, scene: Scene) -> tuple[Model, Guarantee]:
        """Return what the attacker looks into, and what is proved of it."""
        if isinstance(target, Model):
            return target, target.guarantee
        if not isinstance(target, Release):
            raise InputError("Membership is asked of a release, of a model, or of their spec.")
        if target.model is not None:
            return target.model, target.cost
        assert target.data is not None  # noqa: S101 - a release holds one or the other
        learnt = recommender(self.learner).fit(target.data, scene.positive, scene.rng)
        return learnt, target.cost

    def _ratings(self, scene: Scene) -> Outcome:
        target, truth = scene.target, scene.truth
        if isinstance(target, Recommender):
            target = target.fit(split(truth)[0], scene.positive, scene.rng)
        if not isinstance(target, Model):
            raise InputError("Membership of a rating is asked of a recommender or of a model.")
        held = _held_out(target, truth, scene.positive)
        scores = []
        for user, items in held.items():
            rows = target.train.rows(user)
            own = target.train.item[rows][target.train.value[rows] >= scene.positive]
            if len(own):
                pair = [int(scene.rng.choice(own)), int(scene.rng.choice(items))]
                scores.append(target.scores(np.array([user]))[0, pair])
        if not scores:
            raise InputError("The truth holds no liked item that was not trained on.")
        found: Floats = np.array(scores)
        return decided(found[:, 0], found[:, 1], scene.rng, None, "rating")


def _made(target: Recommender | Protection, part: Ratings, scene: Scene) -> Target:
    if isinstance(target, Recommender):
        return target.fit(part, scene.positive, scene.rng)
    return protect(part, target, rng=scene.rng)


def _inside(target: Target, truth: Ratings) -> Ids:
    """Return who is in a given release or model; there must be others, too."""
    if isinstance(target, Release) and target.rows is not None:
        inside = np.unique(np.asarray(target.rows, dtype=np.int64))
    else:
        model = target.model if isinstance(target, Release) else target
        users = model.train.users if isinstance(model, Model) else ()
        known = truth.user_positions
        inside = np.array([known[one] for one in users if one in known], dtype=np.int64)
    if len(inside) == truth.n or not len(inside):
        raise InputError(
            "Membership needs people who are not in the release: hand in the spec, and the"
            " experiment trains on one half of the users."
        )
    return inside


def _held_out(model: Model, truth: Ratings, positive: float) -> dict[int, Ids]:
    """Return liked items, by user of the model, that were not trained on."""
    user_at, item_at = model.train.user_positions, model.train.item_positions
    users = np.array([user_at.get(one, -1) for one in truth.users], dtype=np.int64)
    items = np.array([item_at.get(one, -1) for one in truth.items], dtype=np.int64)
    rows = (truth.value >= positive) & (users[truth.user] >= 0) & (items[truth.item] >= 0)
    user, item = users[truth.user[rows]], items[truth.item[rows]]
    trained = model.train.user.astype(np.int64) * model.train.m + model.train.item
    new = ~np.isin(user * model.train.m + item, trained)
    order = np.argsort(user[new], kind="stable")
    of, what = user[new][order], item[new][order]
    cuts = np.flatnonzero(np.diff(of)) + 1
    heads = of[np.concatenate([[0], cuts])] if len(of) else of
    return dict(zip(heads.tolist(), np.split(what, cuts), strict=False))
