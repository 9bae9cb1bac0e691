"""Audit maxima without the true answer: a denial tells nothing."""

from typing import ClassVar

from numpy.random import Generator

from veil.dp.restricted.auditor import Auditor, Mask
from veil.dp.restricted.maxima import Maxima


class MaxSimulatable(Auditor):
    """Refuse a maximum when some answer that is consistent would determine a value.

    Every past answer, a point in each gap between them, and one beyond each end are tried: all
    others are like one of these. Who asks can do the same.

    References
    ----------
    Kenthapadi, Mishra, Nissim. Simulatable Auditing. PODS 2005.
    doi:10.1145/1065167.1065183
    """

    what: ClassVar[str] = "max"
    caveat: ClassVar[str] = (
        "That no value is fixed is all that is kept: what a value is at most is told."
    )

    def __init__(self, n: int, rng: Generator) -> None:
        del rng
        self._known = Maxima(n)

    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Try all answers that could be."""
        del answer
        known = self._known.ranked()
        tried = (known.judged(mask, place) for place in known.possible())
        return not any(consistent and fixed for consistent, fixed in tried)

    def keep(self, mask: Mask, answer: float) -> None:
        """Remember the set and its maximum."""
        self._known.add(mask, answer)
