"""What every mechanism for texts declares, whether it replaces words or rewrites queries."""

from abc import abstractmethod
from typing import ClassVar

from veil.core.component import Component
from veil.core.guarantee import Guarantee


class TextMechanism(Component):
    """Makes variants of a text; `paper` cites where it is defined, for lists and help.

    `family` groups mechanisms that work alike, in reports. `needs` says what must be at hand:
    "vectors" is given to it, anything else is a name that ``veil fetch`` knows. `foes` are the
    attackers that know how it works: without them its risk may look lower than it is.
    """

    paper: ClassVar[str] = ""
    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset()
    foes: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proved for one unit (a word, or a whole query) and one variant."""
