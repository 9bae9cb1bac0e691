"""A mechanism that sees a random sample of the records, each taken independently."""

import math
from dataclasses import dataclass, replace

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.dp.arguments import positive
from veil.dp.mechanism import Mechanism
from veil.dp.mechanisms import mechanism as named


@dataclass(frozen=True, slots=True)
class Sampled:
    """One release made of a Poisson sample; which records are in it stays secret."""

    of: Mechanism | Guarantee
    q: float

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of one release for the whole data, by epsilon and delta alone."""
        return amplified(guarantee_of(self.of), self.q)

    def __str__(self) -> str:
        return f"{self.of}, sampled at {self.q:g}"


def sampled(mechanism: str | Mechanism | Guarantee | Sampled, q: float) -> Sampled:
    """Return a mechanism as it is run on a sample that takes each record with probability q.

    Every record is taken or not by itself (Poisson sampling), anew for every release, and the
    sample is told to nobody. A sample of fixed size, or batches that divide the data, are
    something else, and this must not be used for them.

    Parameters
    ----------
    mechanism
        A mechanism, its spec, or a guarantee under adding or removing a record.
    q
        The probability of a record, above 0 and at most 1.

    References
    ----------
    Balle, Barthe, Gaboardi. Privacy Amplification by Subsampling. NeurIPS 2018, Theorem 8.

    Examples
    --------
    >>> round(sampled("geometric(epsilon=1)", 0.01).guarantee.epsilon, 6)
    0.017037
    """
    if (rate := positive("q", q)) > 1:
        raise ParameterError("The 'q' argument of a sample must be a number > 0 and <= 1.")
    if isinstance(mechanism, Sampled):
        return Sampled(mechanism.of, mechanism.q * rate)
    of = mechanism if isinstance(mechanism, Guarantee) else named(mechanism)
    told = guarantee_of(of)
    if told.kind == "local-dp" or (told.neighbours and "add or remove" not in told.neighbours):
        raise ParameterError(
            "A sample makes less of a guarantee under adding or removing a record alone; count the"
            " mechanism as it is."
        )
    return Sampled(of, rate)


def guarantee_of(of: Mechanism | Guarantee) -> Guarantee:
    """Return the guarantee of a mechanism, or the guarantee itself."""
    return of if isinstance(of, Guarantee) else of.guarantee


def amplified(told: Guarantee, q: float) -> Guarantee:
    """Return what holds for all records when each is sampled with probability q.

    (epsilon, delta) becomes (ln(1 + q (e^epsilon - 1)), q delta). Of zCDP no such form is proved:
    rho stays, which holds, too.
    """
    if told.kind != "dp" or q == 1:
        return told
    if told.epsilon < 700:
        epsilon = math.log1p(q * math.expm1(told.epsilon))
    else:
        epsilon = told.epsilon + math.log(q)
    return replace(told, epsilon=min(told.epsilon, epsilon), delta=q * told.delta)
