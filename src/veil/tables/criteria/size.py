"""k-anonymity: a class has at least k rows."""

from dataclasses import dataclass
from typing import ClassVar

from veil.tables.criteria.classes import Classes
from veil.tables.criteria.criterion import Bools


@dataclass(frozen=True)
class Size:
    """At least `k` rows look alike.

    References
    ----------
    Sweeney. k-anonymity: a model for protecting privacy. IJUFKS 10(5), 2002, Definition 3.
    doi:10.1142/S0218488502001648
    """

    k: int
    lasting: ClassVar[bool] = True

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes are large enough."""
        return classes.sizes >= self.k
