"""What attackers share that look for the profile of somebody of whom they know a few ratings."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.outcome import first_guess, standing
from veil.core.types import Floats, Ids
from veil.measures.estimate import bootstrap
from veil.measures.risk import successes
from veil.ratings.attacker import Attacker, Outcome, Scene
from veil.ratings.attacks._knowledge import Knowledge, drawn, hashed
from veil.ratings.attacks._seen import Seen, seen_in

# Scores (n',) of all released profiles against items, values and times (known,) of one target;
# items are positions in the release, -1 where it has none.
Scorer = Callable[[Ids, Floats, Floats], Floats]
_ROUNDING = 1e-12  # scores of equal profiles are sums of equal terms


class Linker(Attacker):
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
    def ready(self, seen: Seen, scene: Scene) -> Scorer:
        """Return what scores the profiles of a release."""

    def run(self, scene: Scene) -> Outcome:
        """Look for each target among all released profiles."""
        if self.wrong >= self.known:
            raise ParameterError(
                "Of the known items at least one must be right: 'wrong' < 'known'."
            )
        seen = seen_in(scene, self.name)
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
            return drawn(truth, self.known, self.wrong, self.targets, self.days, scene.rng)
        if self.wrong:
            raise ParameterError("Knowledge that is chosen by hash has no wrong item.")
        return hashed(truth, self.known, self.targets)

    def _columns(self, told: Knowledge, seen: Seen) -> tuple[Ids, Floats, Floats]:
        times = np.full(told.values.shape, np.nan) if told.times is None else told.times
        return seen.items[told.items], told.values, times


def _placed(scores: Floats, place: int, phi: float) -> tuple[float, float, float, float]:
    """Return rank, ties, whether the attacker claims, and whether it is then right."""
    rank, ties = standing(scores, place, _ROUNDING)
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
    return Outcome(hits, 1 / n, bootstrap(hits), ranks, ties, among, "user", details, users)
