"""What every criterion on classes declares."""

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from veil.tables.criteria.classes import Classes

Bools = NDArray[np.bool_]
SLACK = 1e-9  # what rounding may add to an entropy or a distance


class Criterion(Protocol):
    """Tells which classes pass.

    `lasting` says that a class which passes still does when any rows join it. All criteria here
    hold of two classes together if they hold of each; only lasting ones hold if they do of one,
    which is what it takes when failing classes are suppressed.
    """

    lasting: ClassVar[bool]

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes (m,) pass."""
        ...


def passing(criteria: tuple[Criterion, ...], classes: Classes) -> Bools:
    """Tell which classes (m,) pass all criteria."""
    made = np.ones(len(classes.sizes), dtype=np.bool_)
    for criterion in criteria:
        made &= criterion.passes(classes)
    return made
