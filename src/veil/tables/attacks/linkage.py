"""Record linkage: exact, by distance, and probabilistic (Fellegi and Sunter)."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Protocol

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.tables.attack import Attack, Scene, Truth, mean_attack
from veil.tables.attacks.nearest import Compatible, Nearest, Tallies, Tally
from veil.tables.patterns import Patterns


class Guesses(Protocol):
    """The pairs of released and original rows that an attacker takes for the same person."""

    def chance(self, released: Ids, originals: Ids) -> Floats:
        """Return the probability of guessing each pair: 1 / ties if among the best, else 0."""
        ...


@dataclass(frozen=True, eq=False)
class Links:
    """Guesses, and details of the attack."""

    guesses: Guesses
    details: Mapping[str, object] = field(default_factory=dict)


class Linker(Attack):
    """Links released rows to original ones; the risk is the share of right links.

    Ties share: a record that is one of c guesses counts 1/c. Removed records count 0.
    """

    family: ClassVar[str] = "Record linkage"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})

    @abstractmethod
    def links(self, scene: Scene) -> Links:
        """Return guesses, made without the true links."""

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        del rng
        rows = truth.of(self.name)
        links = self.links(scene)
        chances = links.guesses.chance(np.arange(len(rows)), rows)
        details = {
            "released": float(chances.mean()),  # over released rows only
            **links.details,
        }
        return mean_attack(truth.spread(chances, self.name), 1 / len(truth.original), details)


class Exact(Linker):
    """Take the released rows whose labels cover all known values of a target.

    A label covers the value that it equals, the leaves below it in the hierarchy, the numbers of
    its interval, the members of its set; a star or a missing value covers everything. With c such
    rows, the probability is 1/c if the target's own is one of them, else 0.
    """

    name: ClassVar[str] = "exact"

    @override
    def links(self, scene: Scene) -> Links:
        released, originals = scene.patterns
        compatible = Compatible(scene.covers(scene.known, scene.qi, "star"), released, originals)
        counts = compatible.over_released(released.sizes[:, None])[:, 0]
        return Links(_Covered(compatible, released, originals, counts))


@dataclass(frozen=True, eq=False)
class _Covered:
    compatible: Compatible
    released: Patterns
    originals: Patterns
    counts: Floats  # (known patterns,)

    def chance(self, released: Ids, originals: Ids) -> Floats:
        mine = self.originals.at[originals]
        covered = self.compatible.holds(self.released.at[released], mine)
        return np.where(covered, 1 / np.maximum(self.counts[mine], 1.0), 0.0)


class Distance(Linker):
    r"""Link each released row to the nearest original, on the whole file.

    .. math:: d(x', x)^2 = \sum_j d_j(x'_j, x_j)^2

    with numbers in sample standard deviations of the original, categories 0 or 1, or the level of
    the lowest common ancestor over the height of the hierarchy, and a star at half the largest
    distance. Of c equally near originals, each is equally likely.

    A subset of the rows would break the groups of microaggregation, and overstate the risk.

    References
    ----------
    Pagliuca, Seri. Some results of individual ranking method on the system of enterprise accounts
    annual survey. Esprit SDC Project, MI-3/D2, 1999.
    """

    name: ClassVar[str] = "distance"

    @override
    def links(self, scene: Scene) -> Links:
        released, originals = scene.patterns
        distances = scene.distances(scene.known, scene.qi, "euclidean")
        return Links(
            _Near(Nearest(distances, released, originals, released=False), released, originals)
        )


@dataclass(frozen=True, eq=False)
class _Near:
    nearest: Nearest
    released: Patterns
    originals: Patterns

    def chance(self, released: Ids, originals: Ids) -> Floats:
        targets = self.released.at[released]
        nearest = self.nearest.holds(targets, self.originals.at[originals])
        which, place = np.unique(targets[nearest], return_inverse=True)
        ties = self.nearest.sums(which, self.originals.sizes[:, None])[:, 0]
        chances = np.zeros(len(targets))
        chances[nearest] = 1 / ties[place]
        return chances


_EDGE = 1e-6  # smallest distance of a probability from 0 and 1
_START = 0.9
_STOP = 1e-12  # EM stops below this change of all probabilities
_ROUNDS = 20_000


def clip_chances(chances: Floats) -> Floats:
    """Clip probabilities away from 0 and 1."""
    return np.clip(chances, _EDGE, 1 - _EDGE)


def agreement_rates(totals: tuple[Ids, Floats], u: Floats, share: float) -> Floats:
    """Return the EM estimate of the probability that each column agrees for the same person.

    Parameters
    ----------
    totals
        Agreements (bit j: column j agrees), and the number of pairs with each.
    u
        Probability that each column agrees for two different persons; fixed.
    share
        Share of pairs of the same person; fixed.
    """
    agreements, counts = totals
    agrees = ((agreements[:, None] >> np.arange(len(u))) & 1).astype(np.float64)
    others = _log(agrees, u) + np.log1p(-share) if share < 1 else np.full(len(counts), -np.inf)
    m = np.full(len(u), _START)
    for _ in range(_ROUNDS):
        same = _log(agrees, m) + np.log(share)
        odds = counts * np.exp(same - np.logaddexp(same, others))
        after = clip_chances(odds @ agrees / odds.sum())
        change = float(np.abs(after - m).max())
        m = after
        if change < _STOP:
            break
    return m


def _log(agrees: Floats, chances: Floats) -> Floats:
    likelihood: Floats = agrees @ np.log(chances) + (1 - agrees) @ np.log1p(-chances)
    return likelihood


_SAME = 1e-9  # difference up to which weights are equal


class FellegiSunter(Linker):
    r"""Link each released row to the originals with the largest agreement weight.

    .. math:: w = \sum_{j\,\mathrm{agrees\ on}\,v} \ln \frac{m_j}{f_j(v)}
       + \sum_{j\,\mathrm{differs}} \ln \frac{1 - m_j}{1 - u_j}

    m is the probability that a column agrees for the same person, u that it agrees by chance, f(v)
    the share of originals that a released label v covers. A column agrees if its label covers the
    value; a missing value agrees with nothing. m is estimated from the agreements of all pairs by
    EM with the share of matches fixed at 1/n: otherwise EM finds households, not matches. The
    parameter `m` replaces the estimate in all columns, for attackers who know the mechanism.

    References
    ----------
    Fellegi, Sunter. A theory for record linkage. JASA 64(328), 1969.
    doi:10.1080/01621459.1969.10501049
    Winkler. Using the EM algorithm for weight computation in the Fellegi-Sunter model of record
    linkage. Proceedings of the Section on Survey Research Methods, ASA, 1988.
    """

    name: ClassVar[str] = "fellegi_sunter"
    m: Annotated[
        float | None,
        Field(
            gt=0, le=1, description="probability that a column agrees, if the mechanism is known"
        ),
    ] = None

    @override
    def links(self, scene: Scene) -> Links:
        released, originals = scene.patterns
        covers = scene.covers(scene.known, scene.qi, "never")
        n = len(scene.known)
        shares, chance = [], []
        for column, cover in enumerate(covers):
            counts = np.bincount(
                originals.codes[:, column], originals.sizes, minlength=cover.values + 1
            )
            shares.append(cover.sums(counts.astype(np.float64))[released.codes[:, column]] / n)
            chance.append(float(shares[-1] @ released.sizes) / released.sizes.sum())
        tallies = Tallies(covers, released, originals)
        u = clip_chances(np.array(chance))
        m = clip_chances(np.full(len(covers), self.m or 0.0))
        if self.m is None:
            m = agreement_rates(_totals(tallies, released), u, 1 / n)
        differs = np.log((1 - m) / (1 - u))
        gains = np.log(m / clip_chances(np.stack(shares, axis=1))) - differs
        weighed = _Weighed(
            tallies, released, originals, gains, *_best(tallies, gains, len(released))
        )
        details = {
            "m": dict(zip(scene.qi, m.tolist(), strict=True)),
            "u": dict(zip(scene.qi, u.tolist(), strict=True)),
        }
        return Links(weighed, details)


@dataclass(frozen=True, eq=False)
class _Weighed:
    tallies: Tallies
    released: Patterns
    originals: Patterns
    gains: Floats  # (released patterns, columns)
    best: Floats
    ties: Floats

    def chance(self, released: Ids, originals: Ids) -> Floats:
        targets, matches = self.released.at[released], self.originals.at[originals]
        agreements = self.tallies.agreements(targets, matches)
        weights = (agreements * self.gains[targets]).sum(axis=1)
        return np.where(weights >= self.best[targets] - _SAME, 1 / self.ties[targets], 0.0)


def _totals(tallies: Tallies, released: Patterns) -> tuple[Ids, Floats]:
    agreements = np.empty(0, dtype=np.int64)
    counts = np.empty(0)
    for tally in tallies:
        listed = np.concatenate([agreements, tally.agreements])
        more = np.concatenate([counts, tally.counts * released.sizes[tally.rows]])
        agreements, places = np.unique(listed, return_inverse=True)
        counts = np.bincount(places, more).astype(np.float64)
    return agreements, counts


def _best(tallies: Tallies, gains: Floats, n: int) -> tuple[Floats, Floats]:
    best, ties = np.empty(n), np.empty(n)
    for tally in tallies:
        weights = _weights(tally, gains)
        starts = np.flatnonzero(np.diff(tally.rows, prepend=-1))
        rows = tally.rows[starts]
        best[rows] = np.maximum.reduceat(weights, starts)
        level = weights >= best[tally.rows] - _SAME
        ties[rows] = np.add.reduceat(tally.counts * level, starts)
    return best, ties


def _weights(tally: Tally, gains: Floats) -> Floats:
    total = np.zeros(len(tally.rows))
    for column in range(gains.shape[1]):
        agrees = (tally.agreements >> column) & 1
        total += agrees * gains[tally.rows, column]
    return total


class Linkage(Attack):
    """Link records by labels, distances and weights; the largest of the three risks counts.

    The best of them depends on the mechanism, and nobody knows which attacker a release will meet.
    """

    name: ClassVar[str] = "linkage"
    family: ClassVar[str] = "Record linkage"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})

    @override
    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        truth.of(self.name)
        attackers = (Exact(), Distance(), FellegiSunter())
        outcomes = {attack.name: attack.run(scene, truth, rng) for attack in attackers}
        best = max(outcomes, key=lambda name: outcomes[name].risk)
        risks = {name: float(attack.risk) for name, attack in outcomes.items()}
        won = outcomes[best]
        largest = max(attack.details["largest"] for attack in outcomes.values())
        details = {**won.details, "attacker": best, "risks": risks, "largest": largest}
        return replace(won, details=details)
