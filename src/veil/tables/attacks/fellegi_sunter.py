"""Probabilistic record linkage."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.types import Floats, Ids
from veil.tables.attacks.attacker import Scene
from veil.tables.attacks.linker import Linker, Links
from veil.tables.attacks.mixture import agreement_rates, clipped
from veil.tables.attacks.patterns import Patterns
from veil.tables.attacks.tallies import Tallies, Tally

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
        u = clipped(np.array(chance))
        m = clipped(np.full(len(covers), self.m or 0.0))
        if self.m is None:
            m = agreement_rates(_totals(tallies, released), u, 1 / n)
        differs = np.log((1 - m) / (1 - u))
        gains = np.log(m / clipped(np.stack(shares, axis=1))) - differs
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
