"""Record linkage: exact, by distance, and probabilistic (Fellegi and Sunter)."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Protocol

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.tables.attack import Attack, Scene, Truth, mean_attack
from veil.tables.attacks.nearest import Compatible, Nearest, Tallies, Tally
from veil.tables.patterns import Patterns


class Guesses(Protocol):
    """Which pairs of a released and an original row an attacker takes for the same person."""

    def chance(self, released: Ids, originals: Ids) -> Floats:
        """Return how likely each pair is named: 1 / ties if it is among the best, else 0."""
        ...


@dataclass(frozen=True, eq=False)
class Links:
    """Guesses, and what else an attacker found on the way."""

    guesses: Guesses
    details: Mapping[str, object] = field(default_factory=dict)


class Linker(Attack):
    """Links released rows to original ones; the risk is the share that is right.

    Ties share: a record that is one of c guesses counts 1/c. Records that were removed count 0.
    """

    family: ClassVar[str] = "Record linkage"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})

    @abstractmethod
    def links(self, scene: Scene) -> Links:
        """Guess; nothing is known of who is who."""

    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Score the guesses."""
        del rng
        rows = truth.of(self.name)
        links = self.links(scene)
        chances = links.guesses.chance(np.arange(len(rows)), rows)
        details = {
            "released": float(chances.mean()),  # over released rows alone
            **links.details,
        }
        return mean_attack(truth.spread(chances, self.name), 1 / len(truth.original), details)


class Exact(Linker):
    """Take the released rows whose labels cover all that is known of a target.

    A label covers the value that it equals, the leaves below it in the hierarchy, the numbers of
    its interval, the members of its set; a star, or a missing value, covers everything. Of c such
    rows each is as likely: 1/c if the target's own is one of them, else 0.
    """

    name: ClassVar[str] = "exact"

    def links(self, scene: Scene) -> Links:
        """Count the rows that may be each target's."""
        released, known = scene.patterns
        compatible = Compatible(scene.covers(scene.known, scene.qi, "star"), released, known)
        counts = compatible.over_released(released.sizes[:, None])[:, 0]
        return Links(_Covered(compatible, released, known, counts))


@dataclass(frozen=True, eq=False)
class _Covered:
    compatible: Compatible
    released: Patterns
    known: Patterns
    counts: Floats  # (known patterns,)

    def chance(self, released: Ids, originals: Ids) -> Floats:
        mine = self.known.at[originals]
        held = self.compatible.holds(self.released.at[released], mine)
        return np.where(held, 1 / np.maximum(self.counts[mine], 1.0), 0.0)


class Distance(Linker):
    r"""Link each released row to the nearest original, on the whole file.

    .. math:: d(x', x)^2 = \sum_j d_j(x'_j, x_j)^2

    with numbers in sample standard deviations of the original, categories 0 or 1, or the level of
    the lowest common ancestor by the height of the hierarchy, and a star at half the largest
    distance. Of c originals that are as near, each is as likely.

    A subset of the rows would break the groups of microaggregation, and overstate.

    References
    ----------
    Pagliuca, Seri. Some results of individual ranking method on the system of enterprise accounts
    annual survey. Esprit SDC Project, MI-3/D2, 1999.
    """

    name: ClassVar[str] = "distance"

    def links(self, scene: Scene) -> Links:
        """Find the nearest."""
        released, known = scene.patterns
        aparts = scene.distances(scene.known, scene.qi, "euclidean")
        return Links(_Near(Nearest(aparts, released, known, released=False), released, known))


@dataclass(frozen=True, eq=False)
class _Near:
    nearest: Nearest
    released: Patterns
    known: Patterns

    def chance(self, released: Ids, originals: Ids) -> Floats:
        asked = self.released.at[released]
        held = self.nearest.holds(asked, self.known.at[originals])
        which, place = np.unique(asked[held], return_inverse=True)
        ties = self.nearest.sums(which, self.known.sizes[:, None])[:, 0]
        made = np.zeros(len(asked))
        made[held] = 1 / ties[place]
        return made


_EDGE = 1e-6  # how near a chance may come to 0 and 1
_START = 0.9
_STOP = 1e-12  # change of all chances at which the estimate stands
_ROUNDS = 20_000


def clip_chances(chances: Floats) -> Floats:
    """Keep chances away from 0 and 1."""
    return np.clip(chances, _EDGE, 1 - _EDGE)


def agreement_rates(totals: tuple[Ids, Floats], u: Floats, share: float) -> Floats:
    """Estimate by EM how often each column of one person agrees.

    Parameters
    ----------
    totals
        Agreements (bit j: column j agrees), and how many pairs have each.
    u
        How often columns of two persons agree; fixed.
    share
        Share of pairs that are one person; fixed.
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
    made: Floats = agrees @ np.log(chances) + (1 - agrees) @ np.log1p(-chances)
    return made


_SAME = 1e-9  # weights that differ by no more are the same


class FellegiSunter(Linker):
    r"""Link each released row to the originals of the largest weight of agreement.

    .. math:: w = \sum_{j\,\mathrm{agrees\ on}\,v} \ln \frac{m_j}{f_j(v)}
       + \sum_{j\,\mathrm{differs}} \ln \frac{1 - m_j}{1 - u_j}

    m is the chance that a column of one person agrees, u that it agrees by chance, f(v) the share
    of originals that a released label v covers. A column agrees if its label covers the value; a
    missing value agrees with nothing. m is estimated from the agreements of all pairs by EM with
    the share of matches fixed at 1/n: left free, EM finds households, not matches. `m` says it
    instead, of all columns, for who knows the method.

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
        Field(gt=0, le=1, description="chance that a column agrees, if the method is known"),
    ] = None

    def links(self, scene: Scene) -> Links:
        """Estimate m, then weigh every agreement that occurs."""
        released, known = scene.patterns
        covers = scene.covers(scene.known, scene.qi, "never")
        n = len(scene.known)
        shares, chance = [], []
        for column, cover in enumerate(covers):
            held = np.bincount(known.codes[:, column], known.sizes, minlength=cover.values + 1)
            shares.append(cover.sums(held.astype(np.float64))[released.codes[:, column]] / n)
            chance.append(float(shares[-1] @ released.sizes) / released.sizes.sum())
        tallies = Tallies(covers, released, known)
        u = clip_chances(np.array(chance))
        m = clip_chances(np.full(len(covers), self.m or 0.0))
        if self.m is None:
            m = agreement_rates(_totals(tallies, released), u, 1 / n)
        differs = np.log((1 - m) / (1 - u))
        gains = np.log(m / clip_chances(np.stack(shares, axis=1))) - differs
        weighed = _Weighed(tallies, released, known, gains, *_best(tallies, gains, len(released)))
        details = {
            "m": dict(zip(scene.qi, m.tolist(), strict=True)),
            "u": dict(zip(scene.qi, u.tolist(), strict=True)),
        }
        return Links(weighed, details)


@dataclass(frozen=True, eq=False)
class _Weighed:
    tallies: Tallies
    released: Patterns
    known: Patterns
    gains: Floats  # (released patterns, columns)
    best: Floats
    ties: Floats

    def chance(self, released: Ids, originals: Ids) -> Floats:
        asked, known = self.released.at[released], self.known.at[originals]
        agreements = self.tallies.agreements(asked, known)
        weights = (agreements * self.gains[asked]).sum(axis=1)
        return np.where(weights >= self.best[asked] - _SAME, 1 / self.ties[asked], 0.0)


def _totals(tallies: Tallies, released: Patterns) -> tuple[Ids, Floats]:
    """Add up how many pairs of rows have each agreement."""
    agreements = np.empty(0, dtype=np.int64)
    counts = np.empty(0)
    for tally in tallies:
        listed = np.concatenate([agreements, tally.agreements])
        more = np.concatenate([counts, tally.counts * released.sizes[tally.rows]])
        agreements, places = np.unique(listed, return_inverse=True)
        counts = np.bincount(places, more).astype(np.float64)
    return agreements, counts


def _best(tallies: Tallies, gains: Floats, n: int) -> tuple[Floats, Floats]:
    """Return the best weight of each released pattern (n,), and how many originals have it."""
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
    """Link records by labels, by distance and by weights; the largest risk of the three counts.

    Which attacker is best depends on the method, and nobody knows beforehand whom a release meets.
    """

    name: ClassVar[str] = "linkage"
    family: ClassVar[str] = "Record linkage"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "rows"})

    def run(self, scene: Scene, truth: Truth, rng: Generator) -> Outcome:
        """Run all three."""
        truth.of(self.name)
        attackers = (Exact(), Distance(), FellegiSunter())
        found = {one.name: one.run(scene, truth, rng) for one in attackers}
        best = max(found, key=lambda name: found[name].risk)
        risks = {name: float(attack.risk) for name, attack in found.items()}
        won = found[best]
        largest = max(attack.details["largest"] for attack in found.values())
        details = {**won.details, "attacker": best, "risks": risks, "largest": largest}
        return replace(won, details=details)
