r"""The laws of mechanisms whose losses are known, as an accountant of losses takes them.

*Discrete Laplace noise on an array.* A shift by n steps at slope s has, at the losses s (n - 2j),
delta = 1 - e^(-sj), and in between what lies on the chord. Let one number move by a steps and
another by b >= a. At the loss e = s (a + b - 2j) >= 0 the delta of both together is

.. math:: 1 - q^j \left(1 + \min(j, a) \frac{1-q}{1+q}\right) \le 1 - q^j, \quad q = e^{-s}

which is below that of one number that moves by a + b; and all knots are those. So an array of L1
sensitivity n is never worse than one number that moves by n, which is what is counted.

*Laplace noise on a grid.* The chord lies above the delta of the continuous law, but below that of
a continuous law whose epsilon is larger by 2 ln cosh(s/2) <= s^2/4. The grid makes s at most
2^-20, so that the continuous law of epsilon + 2^-42 covers it, whatever the number of numbers.

*Discrete Gaussian noise* has an exact law for one number. For an array it is **not** that of one
number that moves by the L2 sensitivity: at sigma 0.3 and epsilon 25, four numbers that move by 1
each have 3.9 times the delta of one that moves by 2. Hence a caveat.
"""

import math
from dataclasses import dataclass
from typing import Literal

from veil.core.errors import VeilError
from veil.dp.accounting.cost import Cost
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import mechanism as named
from veil.dp.mechanisms.discrete_gaussian import DiscreteGaussian
from veil.dp.mechanisms.gaussian import Gaussian
from veil.dp.mechanisms.geometric import Geometric
from veil.dp.mechanisms.laplace import Laplace

IDEAL = (
    "The losses of gaussian are counted with idealised numerics: their law is that of the"
    " continuous normal, which is not proved for the grid that it is drawn on."
)
ONE_NUMBER = (
    "The law of discrete_gaussian is that of one number in a release; for an array take zcdp."
)
_GRID = 2.0**-42  # what a grid adds to the epsilon of laplace, at most
_STEPS = 2**12  # of a shift that is followed step by step
_WIDE = 2.0**14  # sigma of a discrete Gaussian whose law is still summed up

Form = Literal["laplace", "discrete laplace", "gaussian", "discrete gaussian", "pair", "zcdp"]


@dataclass(frozen=True, slots=True)
class Law:
    """The losses of one release: a `form` with its numbers, on a sample if `rate` is below 1.

    `size` is the epsilon of a Laplace law or of a pair, sensitivity over sigma of a Gaussian one,
    and the rho of zCDP; `steps` is the shift of a discrete law; `delta` belongs to a pair.
    """

    form: Form
    size: float
    steps: int = 1
    rate: float = 1.0
    delta: float = 0.0
    caveat: str = ""


def law_of(cost: Cost) -> Law:
    """Return the law of a release; one that is not known is as bad as its guarantee allows."""
    of = _named(cost.spec) if cost.spec else None
    if of is not None and (own := _own(of, cost.rate)) is not None:
        return own
    told = cost.guarantee
    if told.kind == "zcdp":
        return Law("zcdp", told.rho)
    return Law("pair", told.epsilon, delta=told.delta)


def _named(spec: str) -> Mechanism | None:
    """Return the mechanism of a spec; that of a plugin may be gone since it was charged."""
    try:
        return named(spec)
    except VeilError:
        return None


def _own(of: Mechanism, rate: float) -> Law | None:
    if isinstance(of, Laplace):
        return Law("laplace", of.epsilon + _GRID, rate=rate)
    if isinstance(of, Geometric):
        return _geometric(of, rate)
    if isinstance(of, Gaussian):
        return Law("gaussian", of.sensitivity / of.scale, rate=rate, caveat=IDEAL)
    if isinstance(of, DiscreteGaussian) and of.sigma2 <= _WIDE**2:
        sigma = math.sqrt(of.sigma2)
        return Law(
            "discrete gaussian", of.sensitivity / sigma, of.sensitivity, rate, caveat=ONE_NUMBER
        )
    return None


def _geometric(of: Geometric, rate: float) -> Law:
    if of.sensitivity <= _STEPS:
        return Law("discrete laplace", of.epsilon, of.sensitivity, rate)
    slope = of.epsilon / of.sensitivity
    return Law("laplace", of.epsilon + slope * slope / 4, rate=rate)
