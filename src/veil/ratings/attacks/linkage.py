"""Find somebody's profile by a few items that she rated.

What a linking attacker is said to know: a few items of each target, and about how they rated.
This is the one place where an attacker's knowledge is made of the originals.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

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
    """Targets (t,), and items, values and times (t, known) that are known of each.

    Users and items are positions in the truth; who attacks is not shown `users`.
    """

    users: Ids
    items: Ids
    values: Floats
    times: Floats | None


def draw_knowledge(
    truth: Ratings, known: int, wrong: int, targets: int, days: float, rng: Generator
) -> Knowledge:
    """Draw targets, `known` - `wrong` items of each, and `wrong` items that they did not rate.

    Values are off by -1, 0 or 1, times by up to `days`, both uniformly; the value and the time of
    a wrong item are any that there can be.
    """
    right = known - wrong
    able = np.flatnonzero((truth.per_user >= max(right, 1)) & (truth.per_user <= truth.m - wrong))
    if not len(able):
        raise InputError(
            f"Nobody has {right:,} ratings that could be known; let the attacker know fewer."
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
    """Choose by hash, the same whoever computes it: no generator, no wrong item.

    Targets are the first users, of one in four by hash, who have enough ratings; known are the
    items with the smallest hash of user and item; another part of it moves the values.
    """
    hashes = id_hashes(truth.users)
    able = np.flatnonzero((mix(hashes) % np.uint64(4) == 0) & (truth.per_user >= known))
    if not len(able):
        raise InputError(
            f"Nobody has {known:,} ratings that could be known; let the attacker know fewer."
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
        What anybody sees, and how it was made.
    items
        (m,) where the items of the truth are in the release, -1 where they are not.
    place
        (n,) where the users of the truth are in the release, -1 where they are not: it scores
        guesses, and no guess is made of it.
    """

    data: Ratings
    mechanism: str
    items: Ids
    place: Ids


def released_ratings(scene: Scene, who: str) -> ReleasedRatings:
    """Return the released ratings of a scene; `who` is the attacker, for the message."""
    data = data_of(scene.target)
    if data is None or not isinstance(scene.target, Release):
        raise InputError(
            f"{who} attacks released ratings; there are none here, only a model: use membership."
        )
    at = data.item_positions
    items = np.array([at.get(one, -1) for one in scene.truth.items], dtype=np.int64)
    return ReleasedRatings(
        data, scene.target.mechanism, items, _places(scene.target, data, scene.truth)
    )


def data_of(target: Target) -> Ratings | None:
    """Return the ratings that a target shows, or None."""
    return target.data if isinstance(target, Release) else None


def _places(release: Release, data: Ratings, truth: Ratings) -> Ids:
    place = np.full(truth.n, -1, dtype=np.int64)
    if release.rows is not None:
        behind = np.asarray(release.rows, dtype=np.int64)
        there = np.flatnonzero(behind >= 0)
        place[behind[there]] = there
        return place
    known = truth.user_positions
    behind = np.array([known.get(one, -1) for one in data.users], dtype=np.int64)
    if (behind < 0).all():
        raise InputError(
            "Which released profile is whose is not known here; hand in what protect returned, or"
            " the spec of the protection."
        )
    there = np.flatnonzero(behind >= 0)
    place[behind[there]] = there
    return place


# Scores (n',) of all released profiles against items, values and times (known,) of one target;
# items are positions in the release, -1 where it has none.
Scorer = Callable[[Ids, Floats, Floats], Floats]
_ROUNDING = 1e-12  # scores of equal profiles are sums of equal terms


class Linker(Attack):
    """Ranks the released profiles by how well they fit what is known of a target."""

    known: Annotated[int, Field(ge=1, le=1000, description="items known of a target")] = 8
    wrong: Annotated[
        int,
        Field(
            ge=0, description="of these, items that she did not rate", json_schema_extra=PRIVATE
        ),
    ] = 0
    phi: Annotated[float, Field(ge=0, description="eccentricity from which it claims")] = 1.5
    targets: Annotated[int, Field(ge=1, description="users who are looked for, at most")] = 300
    days: Annotated[float, Field(ge=0, description="by how much known times are off")] = 14.0
    knowledge: Annotated[
        Literal["random", "hash"],
        Field(description="how targets and items are chosen; by hash nothing is drawn"),
    ] = "random"

    @abstractmethod
    def ready(self, seen: ReleasedRatings, scene: Scene) -> Scorer:
        """Return what scores the profiles of a release."""

    def run(self, scene: Scene) -> Outcome:
        """Look for each target among all released profiles."""
        if self.wrong >= self.known:
            raise ParameterError(
                "Of the known items at least one must be right: 'wrong' < 'known'."
            )
        seen = released_ratings(scene, self.name)
        told = self._told(scene)
        scorer = self.ready(seen, scene)
        found = [
            _placed(scorer(*one), int(seen.place[user]), self.phi)
            for user, *one in zip(told.users, *self._columns(told, seen), strict=True)
        ]
        return _outcome(np.array(found), told.users, seen.data.n)

    def _told(self, scene: Scene) -> Knowledge:
        truth = scene.truth
        if self.knowledge == "random":
            return draw_knowledge(
                truth, self.known, self.wrong, self.targets, self.days, scene.rng
            )
        if self.wrong:
            raise ParameterError("Knowledge that is chosen by hash has no wrong item.")
        return hashed_knowledge(truth, self.known, self.targets)

    def _columns(self, told: Knowledge, seen: ReleasedRatings) -> tuple[Ids, Floats, Floats]:
        times = np.full(told.values.shape, np.nan) if told.times is None else told.times
        return seen.items[told.items], told.values, times


def _placed(scores: Floats, place: int, phi: float) -> tuple[float, float, float, float]:
    """Return rank, ties, whether the attacker claims, and whether it is then right."""
    rank, ties = rank_with_ties(scores, place, _ROUNDING)
    claims = eccentricity(scores) >= phi
    return rank, ties, claims, claims and rank == 1


def eccentricity(scores: Floats) -> float:
    """Return (best - second best)/sd over all candidates; 0 where all are alike.

    >>> eccentricity(np.array([0.0, 0.0, 0.0, 2.0])) > 2
    True
    """
    finite = scores[np.isfinite(scores)]
    if len(finite) < 2:
        return np.inf if len(finite) and len(scores) > 1 else 0.0
    second, best = np.partition(finite, -2)[-2:]
    spread = float(finite.std())
    return float(best - second) / spread if spread > 0 else 0.0


def _outcome(found: Floats, users: Ids, n: int) -> Outcome:
    ranks, ties = found[:, 0].astype(np.int64), found[:, 1].astype(np.int64)
    hits = first_guess(ranks, ties)
    among = np.full(len(ranks), n, dtype=np.int64)
    claims, right = found[:, 2].sum(), found[:, 3].sum()
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
    r"""Score each released profile by known items that it shares, the rarer the more.

    .. math:: \sum_{i} \frac{e^{-|r_i - r_{vi}|/\rho} + e^{-|t_i - t_{vi}|/30\,\text{days}}}
       {\ln \max(|U_i|, 2)}

    over the known items i that the profile v has; the second term where there are times. Profiles
    with equal scores share the success: of k equal records each is hit once in k. The attacker
    claims a target where the best score stands out: (best - second)/sd >= `phi`.

    References
    ----------
    Narayanan, Shmatikov. Robust De-anonymization of Large Sparse Datasets. IEEE S&P 2008,
    Section 5 (Scoreboard-RH). doi:10.1109/SP.2008.33
    """

    name: ClassVar[str] = "scoreboard"
    rho: Annotated[
        float, Field(gt=0, description="how fast a difference of values counts less")
    ] = 1.5

    def ready(self, seen: ReleasedRatings, scene: Scene) -> "Board":
        """Count the raters of each released item."""
        del scene
        counts = np.maximum(seen.data.per_item, 2)
        return Board(seen.data, 1 / np.log(counts), self.rho)


@dataclass(frozen=True, eq=False, repr=False)
class Board:
    """Released ratings, and the weight (m',) of each item."""

    data: Ratings
    weights: Floats
    rho: float

    def __call__(self, items: Ids, values: Floats, times: Floats) -> Floats:
        """Add up what each profile shares."""
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
