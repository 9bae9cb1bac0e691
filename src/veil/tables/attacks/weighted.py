"""The risk of a sampled record when the population is known by sampling weights alone."""

import numpy as np

from veil.core.types import Floats

_FEW = 40  # rows alike up to which the recursion is taken; beyond it the series is short
_STOP = 1e-17
_TERMS = 200


def expected_risk(sample: Floats, population: Floats) -> Floats:
    r"""Return :math:`E[1/F \mid f]` where F given f is negative binomial with p = f / F^.

    .. math:: r_1 = a \ln \frac{1}{p}, \quad r_f = a \left(\frac{1}{f-1} - r_{f-1}\right),
       \quad a = \frac{p}{1-p}

    for p < 1/2, else :math:`\frac{p}{f}\, {}_2F_1(1, 1; f+1; 1-p)`, and 1/f for p = 1. Of many
    rows alike the series is taken for every p: it is the same, and needs fewer terms.

    References
    ----------
    Benedetti, Franconi. Statistical and technological solutions for controlled data dissemination.
    New Techniques and Technologies for Statistics 1998.
    """
    p = np.minimum(sample / population, 1.0)
    made = np.empty(len(p))
    short = (p < 0.5) & (sample <= _FEW)
    made[short] = _recursion(sample[short], p[short])
    made[~short] = _series(sample[~short], p[~short])
    return made


def _recursion(f: Floats, p: Floats) -> Floats:
    a = p / (1 - p)
    risk = a * -np.log(p)
    for count in range(2, int(f.max(initial=1)) + 1):
        risk = np.where(f >= count, a * (1 / (count - 1) - risk), risk)
    return risk


def _series(f: Floats, p: Floats) -> Floats:
    term = np.ones(len(f))
    total = term.copy()
    for k in range(_TERMS):
        term = term * (k + 1) / (f + 1 + k) * (1 - p)
        total += term
        if float(term.max(initial=0.0)) < _STOP:
            break
    return p / f * total
