"""Audit maxima by their true answer, as it was done first: its denials leak."""

from typing import ClassVar

from numpy.random import Generator

from veil.dp.restricted.auditor import Auditor, Mask
from veil.dp.restricted.maxima import Maxima


class Max(Auditor):
    """Refuse a maximum when its true answer would determine some value.

    Nothing follows from the answers; but a denial is made with the truth, and tells it: the
    maximum of a, b and c is 9, that of a and b is refused, hence c is 9.

    References
    ----------
    Kenthapadi, Mishra, Nissim. Simulatable Auditing. PODS 2005.
    doi:10.1145/1065167.1065183
    """

    what: ClassVar[str] = "max"
    simulatable: ClassVar[bool] = False
    caveat: ClassVar[str] = "Denials are decided by the true answer, and disclose values."

    def __init__(self, n: int, rng: Generator) -> None:
        del rng
        self._known = Maxima(n)

    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Judge the true answer."""
        if answer is None:
            return False
        return not self._known.judged(mask, answer)[1]

    def keep(self, mask: Mask, answer: float) -> None:
        """Remember the set and its maximum."""
        self._known.add(mask, answer)
