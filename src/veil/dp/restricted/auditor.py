"""What an auditor of queries declares: which it may judge, and whether it needs the answer."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


class Auditor(ABC):
    """Decides whether a query is answered, so that the answers together fix no value.

    Attributes
    ----------
    what
        The statistic that it can judge; others are refused.
    simulatable
        Whether it decides by the queries and the answers before alone. Who asks could then decide
        as well, and a denial tells nothing. One that is not is handed the answer, and its denials
        leak.
    caveat
        What its answers may still disclose.
    """

    what: ClassVar[str]
    simulatable: ClassVar[bool] = True
    caveat: ClassVar[str] = ""

    def __init__(self, n: int, rng: Generator) -> None:
        del n, rng

    @abstractmethod
    def allows(self, mask: Mask, answer: float | None) -> bool:
        """Decide; `answer` is None for whoever is simulatable."""

    @abstractmethod
    def keep(self, mask: Mask, answer: float) -> None:
        """Remember a query that is answered."""
