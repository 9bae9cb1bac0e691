"""Find a target's profile from a few items that she rated.

A linking attacker knows a few items of each target and approximate ratings. Only this module
derives an attacker's knowledge from the original ratings.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import bootstrap
from veil.core.outcome import Outcome, first_guess, rank_with_ties
from veil.core.types import Floats, Ids
from veil.measures.risk import successes
from veil.ratings.attack import Attack, Scene, Target
from veil.ratings.ratings import Ratings, id_hashes, mix, pair_hashes
from veil.ratings.release import Release

_DAY = 86_400.0
_SALT = 1  # of the hashes that choose knowledge


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """Targets (t,), and the known items, values and times (t, known) of each.

    Users and items are positions in the truth; the attacker does not see `users`.
    """

    users: Ids
    items: Ids
    values: Floats
    times: Floats | None


def draw_knowledge(
    truth: Ratings, known: int, wrong: int, targets: int, days: float, rng: Generator
) -> Knowledge:
    """Draw targets, `known` - `wrong` items of each, and `wrong` items that they did not rate.

    Values are off by -1, 0 or 1 and times by up to `days`, both uniformly. The value and the time
    of a wrong item are arbitrary.
    """
    right = known - wrong
    able = np.flatnonzero((truth.per_user >= max(right, 1)) & (truth.per_user <= truth.m - wrong))
    if not len(able):
        raise InputError(
            f"No user has {right:,} ratings that could be known. Use a smaller 'known'."
        )
    users = np.sort(rng.choice(able, size=min(targets, len(able)), replace=False))
    items = np.empty((len(users), known), dtype=np.int64)
    values = np.empty((len(users), known))
    times = None if truth.time is None else np.empty((len(users), known))
    low, high = truth.scale
    for row, user in enumerate(users.tolist()):
        own = truth.rows(user)
        picked = own.start + rng.choice(own.stop - own.start, size=right, replace=False)
        others = np.setdiff1d(np.arange(truth.m), truth.item[own], assume_unique=True)
        items[row, :right] = truth.item[picked]
        items[row, right:] = rng.choice(others, size=wrong, replace=False)
        off = rng.integers(-1, 2, size=right)
        values[row, :right] = np.clip(truth.value[picked] + off, low, high)
        values[row, right:] = rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, size=wrong)
        if times is not None and truth.time is not None:
            shifts = rng.uniform(-days, days, size=right) * _DAY
            times[row, :right] = truth.time[picked] + shifts
            times[row, right:] = rng.choice(truth.time, size=wrong)
    return Knowledge(users.astype(np.int64), items, values, times)


def hashed_knowledge(truth: Ratings, known: int, targets: int) -> Knowledge:
    """Choose the knowledge by hash, reproducibly: without a generator and without wrong items.

    Targets are the first users with enough ratings among every fourth user by hash. Known are the
    items with the smallest hash of user and item; other bits of the hash shift the values.
    """
    hashes = id_hashes(truth.users)
    able = np.flatnonzero((mix(hashes) % np.uint64(4) == 0) & (truth.per_user >= known))
    if not len(able):
        raise InputError(
            f"No user has {known:,} ratings that could be known. Use a smaller 'known'."
        )
    users = able[:targets].astype(np.int64)
    of_items = id_hashes(truth.items)
    items, values, times = [], [], []
    for user in users.tolist():
        own = truth.rows(user)
        mixed = pair_hashes(hashes[user], of_items[truth.item[own]], _SALT)
        picked = np.lexsort((truth.item[own], mixed))[:known]
        off = (mixed[picked] >> np.uint64(8)) % np.uint64(3)
        items.append(truth.item[own][picked])
        values.append(np.clip(truth.value[own][picked] + off.astype(np.float64) - 1, *truth.scale))
        if truth.time is not None:
            times.append(truth.time[own][picked])
    at = np.stack(times) if times else None
    return Knowledge(users, np.stack(items).astype(np.int64), np.stack(values), at)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedRatings:
    """A release of ratings.

    Attributes
    ----------
    data, mechanism
        The public ratings, and the spec of their mechanism.
    items
        (m,) positions of the items of the truth in the release, -1 if missing.
    place
        (n,) positions of the users of the truth in the release, -1 if missing. It only scores
        guesses; no guess uses it.
    """

    data: Ratings
    mechanism: str
    items: Ids
    place: Ids


def released_ratings(scene: Scene, who: str) -> ReleasedRatings:
    """Return the released ratings of a scene; `who` names the attack in the error."""
    data = data_of(scene.target)
    if data is None or not isinstance(scene.target, Release):
        raise InputError(
            f"{who} needs released ratings, and the target is only a model. Try membership."
        )
    at = data.item_positions
    items = np.array([at.get(name, -1) for name in scene.truth.items], dtype=np.int64)
    return ReleasedRatings(
        data, scene.target.mechanism, items, _places(scene.target, data, scene.truth)
    )


def data_of(target: Target) -> Ratings | None:
    """Return the released ratings of a target, or None."""
    return target.data if isinstance(target, Release) else None


def _places(release: Release, data: Ratings, truth: Ratings) -> Ids:
    place = np.full(truth.n, -1, dtype=np.int64)
    if release.rows is not None:
        behind = np.asarray(release.rows, dtype=np.int64)
        present = np.flatnonzero(behind >= 0)
        place[behind[present]] = present
        return place
    positions = truth.user_positions
    behind = np.array([positions.get(name, -1) for name in data.users], dtype=np.int64)
    if (behind < 0).all():
        raise InputError(
            "The users behind the released profiles are unknown here. Pass the result of protect,"
            " or the spec of the mechanism."
        )
    present = np.flatnonzero(behind >= 0)
    place[behind[present]] = present
    return place


# Scores (n',) of all released profiles against the known items, values and times (known,) of one
# target; items are positions in the release, -1 if missing.
Scorer = Callable[[Ids, Floats, Floats], Floats]
_ROUNDING = 1e-12  # scores of equal profiles are sums of equal terms


class Linker(Attack):
    """Ranks the released profiles by their fit to the knowledge of a target."""

    known: Annotated[int, Field(ge=1, le=1000, description="known items of a target")] = 8
    wrong: Annotated[
        int,
        Field(ge=0, description="known items that she did not rate", json_schema_extra=PRIVATE),
    ] = 0
    phi: Annotated[float, Field(ge=0, description="least eccentricity of a claim")] = 1.5
    targets: Annotated[int, Field(ge=1, description="maximum number of targets")] = 300
    days: Annotated[float, Field(ge=0, description="largest error of known times")] = 14.0
    knowledge: Annotated[
        Literal["random", "hash"],
        Field(description="choice of targets and items; hash is deterministic"),
    ] = "random"

    @abstractmethod
    def ready(self, release: ReleasedRatings, scene: Scene) -> Scorer:
        """Return a function that scores the profiles of a release."""

    @override
    def run(self, scene: Scene) -> Outcome:
        if self.wrong >= self.known:
            raise ParameterError("At least one known item must be right. Use 'wrong' < 'known'.")
        release = released_ratings(scene, self.name)
        knowledge = self._draw_knowledge(scene)
        scorer = self.ready(release, scene)
        placements = [
            _placed(scorer(*facts), int(release.place[user]), self.phi)
            for user, *facts in zip(
                knowledge.users, *self._columns(knowledge, release), strict=True
            )
        ]
        return _outcome(np.array(placements), knowledge.users, release.data.n)

    def _draw_knowledge(self, scene: Scene) -> Knowledge:
        truth = scene.truth
        if self.knowledge == "random":
            return draw_knowledge(
                truth, self.known, self.wrong, self.targets, self.days, scene.rng
            )
        if self.wrong:
            raise ParameterError("knowledge='hash' has no wrong items. Use wrong=0.")
        return hashed_knowledge(truth, self.known, self.targets)

    def _columns(
        self, knowledge: Knowledge, release: ReleasedRatings
    ) -> tuple[Ids, Floats, Floats]:
        times = (
            np.full(knowledge.values.shape, np.nan) if knowledge.times is None else knowledge.times
        )
        return release.items[knowledge.items], knowledge.values, times


def _placed(scores: Floats, place: int, phi: float) -> tuple[float, float, float, float]:
    """Return rank, ties, whether the attacker makes a claim, and whether the claim is right."""
    rank, ties = rank_with_ties(scores, place, _ROUNDING)
    claims = eccentricity(scores) >= phi
    return rank, ties, claims, claims and rank == 1


def eccentricity(scores: Floats) -> float:
    """Return (best - second best)/sd over all candidates; 0 if all are equal.

    >>> eccentricity(np.array([0.0, 0.0, 0.0, 2.0])) > 2
    True
    """
    finite = scores[np.isfinite(scores)]
    if len(finite) < 2:
        return np.inf if len(finite) and len(scores) > 1 else 0.0
    second, best = np.partition(finite, -2)[-2:]
    spread = float(finite.std())
    return float(best - second) / spread if spread > 0 else 0.0


def _outcome(placements: Floats, users: Ids, n: int) -> Outcome:
    ranks, ties = placements[:, 0].astype(np.int64), placements[:, 1].astype(np.int64)
    hits = first_guess(ranks, ties)
    among = np.full(len(ranks), n, dtype=np.int64)
    claims, right = placements[:, 2].sum(), placements[:, 3].sum()
    details = {
        "within ten": float(successes(ranks, "active", candidates=among, ties=ties).mean()),
        "reciprocal rank": float(
            successes(ranks, "motivated", candidates=among, ties=ties).mean()
        ),
        "claims": float(claims),
        "claims right": float(right),
    }
    return Outcome(
        ranks, among, users, "user",
        ties=ties, per_record=hits, baseline=1 / n, excess=True, mean=bootstrap(hits),
        details=details,
    )  # fmt: skip


_DAY_SCALE, _FORGETS = 86_400.0, 30.0


class Scoreboard(Linker):
    r"""Score each released profile by the known items that it shares; rare items count more.

    .. math:: \sum_{i} \frac{e^{-|r_i - r_{vi}|/\rho} + e^{-|t_i - t_{vi}|/30\,\text{days}}}
       {\ln \max(|U_i|, 2)}

    over the known items i that the profile v has; the second term only if there are times.
    Profiles with equal scores share the success: each of k equal records is hit once in k. The
    attacker claims a target if the best score is an outlier: (best - second)/sd >= `phi`.

    References
    ----------
    Narayanan, Shmatikov. Robust De-anonymization of Large Sparse Datasets. IEEE S&P 2008,
    Section 5 (Scoreboard-RH). doi:10.1109/SP.2008.33
    """

    name: ClassVar[str] = "scoreboard"
    rho: Annotated[
        float, Field(gt=0, description="scale on which differences of values count less")
    ] = 1.5

    @override
    def ready(self, release: ReleasedRatings, scene: Scene) -> "Board":
        del scene
        counts = np.maximum(release.data.per_item, 2)
        return Board(release.data, 1 / np.log(counts), self.rho)


@dataclass(frozen=True, eq=False, repr=False)
class Board:
    """Released ratings, and the weight (m',) of each item."""

    data: Ratings
    weights: Floats
    rho: float

    def __call__(self, items: Ids, values: Floats, times: Floats) -> Floats:
        """Return the score (n',) of each profile."""
        data, total = self.data, np.zeros(self.data.n)
        for item, value, time in zip(items.tolist(), values, times, strict=True):
            if item < 0:
                continue
            rows = data.order[data.item_starts[item] : data.item_starts[item + 1]]
            alike = np.exp(-np.abs(value - data.value[rows]) / self.rho)
            if data.time is not None and np.isfinite(time):
                alike += np.exp(-np.abs(time - data.time[rows]) / (_FORGETS * _DAY_SCALE))
            total[data.user[rows]] += self.weights[item] * alike
        return total
