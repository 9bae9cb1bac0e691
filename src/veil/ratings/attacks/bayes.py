"""Find a target's profile from a few items, given the output distribution of the mechanism."""

from dataclasses import dataclass
from math import lgamma
from typing import ClassVar, NamedTuple

import numpy as np
from typing_extensions import override

from veil.core.errors import InputError, LawError
from veil.core.types import Floats, Ids
from veil.ratings.attack import Scene
from veil.ratings.attacks.linkage import Linker, ReleasedRatings, Scorer
from veil.ratings.mechanism import Levels, Mechanism
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.mechanisms.bits import Bits
from veil.ratings.mechanisms.profiles import Pseudonyms
from veil.ratings.ratings import Ratings

_ROUNDS = 200  # of expectation and maximisation


class Law(NamedTuple):
    """P(released | true) as (L, L), a row for each true level; bits have two levels."""

    levels: Levels
    chances: Floats
    bits: bool = False


def law_of(mechanism: str, scale: Ratings) -> Law:
    """Return the distribution of a mechanism on a scale; an empty name means pseudonyms."""
    parsed = MECHANISMS.parse(mechanism or Pseudonyms.name)
    if not isinstance(parsed, Mechanism):
        raise LawError(f"bayes needs released profiles. Got {parsed.name}, which releases none.")
    step = getattr(parsed, "step", None)
    levels = Levels.of(scale, step, "bayes")
    if isinstance(parsed, Pseudonyms):
        return Law(levels, np.eye(levels.count))
    return Law(levels, np.exp(parsed.log_likelihood(scale)), isinstance(parsed, Bits))


def released_levels(data: Ratings, levels: Levels) -> Ids:
    """Return the level (N,) of each released value; raise if a value is not a level."""
    values = np.asarray(data.value, dtype=np.float64)
    at = levels.positions(values)
    if np.abs(levels.values[at] - values).max(initial=0.0) > 1e-6 * levels.step:
        raise InputError(
            "bayes needs released values that are levels of the scale. Try scoreboard."
        )
    return at


def level_frequencies(chances: Floats, released: Ids) -> Floats:
    """Return the frequencies (L,) of true levels by maximum likelihood (EM) from released ones."""
    counts = np.bincount(released, minlength=chances.shape[1]).astype(np.float64)
    prior = np.full(len(chances), 1 / len(chances))
    for _ in range(_ROUNDS):
        joint = prior[:, None] * chances
        total = joint.sum(axis=0)
        share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        prior = (joint * share).sum(axis=1) / counts.sum()
    return prior


_OFF = (-1.0, 0.0, 1.0)  # errors of a known value


class Bayes(Linker):
    r"""Score each released profile by the log-likelihood of the known items, given the mechanism.

    If the items are visible (krr, dlaplace, pseudonyms), a profile v that has exactly the
    right number c of the known items has

    .. math:: \sum_i \ln \sum_r P(r | r'_{vi}) P(k_i | r) - \ln \binom{n_v}{c}
       - \ln \binom{m - n_v}{w}, \qquad P(r | r') \propto P(r' | r) \pi(r)

    and any other is ruled out: the exact posterior, up to the frequencies :math:`\pi` of true
    values, which are estimated from the release. For bits it is the sum of
    :math:`\ln P(b'_{vi} | k_i) / P(b'_{vi})` over the known items.
    """

    name: ClassVar[str] = "bayes"

    @override
    def ready(self, release: ReleasedRatings, scene: Scene) -> Scorer:
        data, law = release.data, law_of(release.mechanism, scene.truth)
        if law.bits:
            flip = float(law.chances[0, 1])
            share = np.clip(data.per_item / data.n, flip * (1 - flip), 1 - flip * (1 - flip))
            return _Bits(data, law.levels, share, flip, self.wrong / self.known, scene.positive)
        right = self.known - self.wrong
        released = released_levels(data, law.levels)
        joint = level_frequencies(law.chances, released)[:, None] * law.chances
        total = joint.sum(axis=0)
        even = np.full_like(joint, 1 / len(joint))
        posterior = np.divide(joint, total, out=even, where=total > 0)
        choices = [
            _choices(n, right) + _choices(data.m - n, self.wrong) for n in data.per_user.tolist()
        ]
        return _Values(data, law.levels, released, posterior, np.array(choices), right)


@dataclass(frozen=True, eq=False, repr=False)
class _Values:
    data: Ratings
    levels: Levels
    released: Ids  # (N,) the level of each released value
    posterior: Floats  # (L, L) P(true level | released level), a column for each released one
    choices: Floats  # (n',) log of the number of ways to choose the known items
    right: int

    def __call__(self, items: Ids, values: Floats, times: Floats) -> Floats:
        del times  # these mechanisms release none
        data = self.data
        total, shared = -self.choices, np.zeros(data.n, dtype=np.int64)
        for item, value in zip(items.tolist(), values.tolist(), strict=True):
            if item < 0:
                continue
            rows = data.order[data.item_starts[item] : data.item_starts[item + 1]]
            with np.errstate(divide="ignore"):
                likely = np.log(value_likelihood(value, self.levels) @ self.posterior)
            total[data.user[rows]] += likely[self.released[rows]]
            shared[data.user[rows]] += 1
        return np.where(shared == self.right, total, -np.inf)


@dataclass(frozen=True, eq=False, repr=False)
class _Bits:
    data: Ratings
    levels: Levels
    share: Floats  # (m',) share of profiles with a set bit
    flip: float
    wrong: float  # share of the known items that are wrong
    positive: float

    def __call__(self, items: Ids, values: Floats, times: Floats) -> Floats:
        del times
        data, total = self.data, np.zeros(self.data.n)
        for item, value in zip(items.tolist(), values.tolist(), strict=True):
            if item < 0:
                continue
            fits = value_likelihood(value, self.levels)
            liked = float(fits[self.levels.values >= self.positive].sum() / max(fits.sum(), 1e-9))
            chance = self.flip + (1 - self.wrong) * liked * (1 - 2 * self.flip)
            without = np.log((1 - chance) / (1 - self.share[item]))
            rows = data.order[data.item_starts[item] : data.item_starts[item + 1]]
            total += without
            total[data.user[rows]] += np.log(chance / self.share[item]) - without
        return total


def value_likelihood(value: float, levels: Levels) -> Floats:
    """Return P(known value = `value` | true level) (L,): off by -1, 0 or 1, then clipped."""
    ends = levels.values[0], levels.values[-1]
    matches = [np.abs(np.clip(levels.values + off, *ends) - value) < 1e-6 for off in _OFF]
    return np.asarray(np.mean(matches, axis=0), dtype=np.float64)


def _choices(n: int, k: int) -> float:
    """Return ln of n choose k; 0 if there is no choice, which is ruled out elsewhere."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if 0 <= k <= n else 0.0
