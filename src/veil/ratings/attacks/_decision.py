"""Tell members from others by one number: the threshold, and what it gives on other people."""

import math

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.measures.bounds import lower_share, upper_share
from veil.ratings.attacker import Outcome, advantage
from veil.ratings.attacks.attribute import area

_ERROR = 0.0125  # of each of two bounds: together they hold with 97.5 % confidence
_FEW = 0.01  # of the others, who are taken for members


def decided(
    members: Floats, others: Floats, rng: Generator, claim: Guarantee | None, unit: str
) -> Outcome:
    """Choose a threshold on one half of both groups; success is TPR - FPR on the other half.

    `claim` is what is proved where it bounds this success, or None.
    """
    if min(len(members), len(others)) < 4:
        raise InputError("Membership needs four people or more who are in it, and as many not.")
    chosen, judged = zip(_halves(members, rng), _halves(others, rng), strict=True)
    cut, strict = threshold(*chosen), quantile(chosen[1])
    decisions = [(group > cut).astype(np.float64) for group in judged]
    success = advantage(*decisions)
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
    hits = np.concatenate([decisions[0], 1 - decisions[1]])
    return Outcome(hits, 0.0, success, unit=unit, details=details)


def threshold(members: Floats, others: Floats) -> float:
    """Return the number above which TPR - FPR is largest.

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
    """Return the number that at most one other in a hundred exceeds."""
    return float(np.quantile(others, 1 - _FEW, method="higher"))


def dp_bound(claim: Guarantee | None) -> float | None:
    r"""Return the largest TPR - FPR under differential privacy of users, or None without it.

    .. math:: \frac{e^\varepsilon - 1 + 2\delta}{e^\varepsilon + 1}

    References
    ----------
    Humphries et al. Investigating Membership Inference Attacks under Data Dependencies. CSF 2023,
    Theorem 3.2 (for members that are drawn independently, as here).
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
    """Return what the true advantage is at least, by exact bounds on both shares."""
    low = lower_share(int(members.sum()), len(members), _ERROR)
    return low - upper_share(int(others.sum()), len(others), _ERROR)
