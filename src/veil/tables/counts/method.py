"""What every method that protects tables of cells declares."""

from abc import abstractmethod
from typing import ClassVar

from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.tables.counts.cells import Cells
from veil.tables.counts.release import CellRelease
from veil.tables.method import nothing

CAVEAT = "A rule about cells says nothing of attackers who know more than the table."


class CellMethod(Component):
    """Publishes a table of cells; `random` says whether anything is drawn."""

    family: ClassVar[str] = "Cells"
    random: ClassVar[bool] = False

    @property
    def draws(self) -> bool:
        """Whether anything is drawn, with these parameters."""
        return self.random

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of a release, whatever the table: nothing."""
        return nothing(CAVEAT)

    @abstractmethod
    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        """Publish the table, or raise."""

    def prepare(self, cells: Cells) -> Cells:  # noqa: ARG002 - most methods cannot
        """Return the table that the next method publishes; most methods only publish."""
        raise ParameterError(f"Nothing can follow {self.name}; put it last, after rollup alone.")
