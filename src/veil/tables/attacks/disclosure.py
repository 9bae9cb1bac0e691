"""What classes of the release tell of confidential columns."""

from abc import abstractmethod
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.attacks.attacker import Scene, TableAttacker, Truth
from veil.tables.attacks.outcome import Attack
from veil.tables.attacks.patterns import filled
from veil.tables.attacks.records import averaged
from veil.tables.labels import Bools
from veil.tables.table import row_classes, unknown_column

ColumnName = Annotated[
    str, Field(description="confidential column; else the one that is told most of")
]


class Makeup(NamedTuple):
    """Released rows by class and confidential value; only pairs that occur are listed.

    Attributes
    ----------
    classes, values
        (m,) of each row.
    pair
        (m,) which pair of class and value each row is of.
    of
        (p,) the class of each pair.
    counts
        (p,) rows of each pair.
    """

    classes: Ids
    values: Ids
    pair: Ids
    of: Ids
    counts: Floats

    @property
    def distinct(self) -> Ids:
        """How many values each class has."""
        return np.bincount(self.of)

    @property
    def sizes(self) -> Ids:
        """How many rows each class has."""
        return np.bincount(self.classes)


def makeup(scene: Scene, values: Ids) -> Makeup:
    """Count values (m,) within the classes of the release."""
    codes = [scene.released.column(name).codes for name in scene.qi]
    classes = row_classes(codes, len(scene.released))
    pair = row_classes([classes, values], len(classes))
    counts = np.bincount(pair).astype(np.float64)
    owner = np.empty(len(counts), dtype=np.int64)
    owner[pair] = classes
    return Makeup(classes, values, pair, owner, counts)


def confidential(scene: Scene, truth: Truth, column: str) -> tuple[str, ...]:
    """Return the confidential columns that are released, or the one that is named."""
    if column:
        if column not in scene.released or column not in truth.original:
            raise unknown_column(column, scene.released.columns)
        if column in scene.qi:
            raise InputError(f"The column '{column}' is a quasi-identifier: it is known already.")
        return (column,)
    return tuple(name for name in truth.original.confidential if name in scene.released)


class Discloser(TableAttacker):
    """Tells which rows are in a class that gives their confidential value away.

    Of several confidential columns the one with the largest risk counts; `columns` in the details
    has all. Rows that were removed count 0.
    """

    family: ClassVar[str] = "Attribute disclosure"
    needs: ClassVar[frozenset[str]] = frozenset({"qi", "confidential", "rows"})
    column: ColumnName = ""

    @abstractmethod
    def disclosed(self, scene: Scene, truth: Truth, name: str) -> Bools:
        """Tell of which released rows (m,) the class gives a confidential column away."""

    def attack(self, scene: Scene, truth: Truth, rng: Generator) -> Attack:
        """Take the column of which most is told."""
        del rng
        names = confidential(scene, truth, self.column)
        found = {
            name: truth.spread(self.disclosed(scene, truth, name).astype(np.float64), self.name)
            for name in names
        }
        risks = {name: float(one.mean()) for name, one in found.items()}
        worst = max(risks, key=lambda name: risks[name])
        return averaged(found[worst], None, {"column": worst, "columns": risks})


def released_values(scene: Scene, name: str) -> Ids:
    """Return the released values of a column as codes; a missing one is a value, too."""
    return filled(scene.released.column(name))
