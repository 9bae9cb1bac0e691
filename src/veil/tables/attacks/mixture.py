"""The mixture of pairs that are one person and pairs that are two."""

import numpy as np

from veil.core.types import Floats, Ids

_EDGE = 1e-6  # how near a chance may come to 0 and 1
_START = 0.9
_STOP = 1e-12  # change of all chances at which the estimate stands
_ROUNDS = 20_000


def clipped(chances: Floats) -> Floats:
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
        after = clipped(odds @ agrees / odds.sum())
        change = float(np.abs(after - m).max())
        m = after
        if change < _STOP:
            break
    return m


def _log(agrees: Floats, chances: Floats) -> Floats:
    made: Floats = agrees @ np.log(chances) + (1 - agrees) @ np.log1p(-chances)
    return made
