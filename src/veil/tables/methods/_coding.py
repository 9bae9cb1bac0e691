"""Top and bottom coding: the extreme values of a column become one."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.errors import ParameterError
from veil.core.types import Floats
from veil.tables.column import Column, written
from veil.tables.method import Alone, Kind, Masked, Method
from veil.tables.table import Table


class Coding(Method):
    """What is beyond a value becomes a label, or the mean of all that is."""

    family: ClassVar[str] = "Generalisation"
    kind: ClassVar[Kind] = "numeric"
    random: ClassVar[bool] = False
    sign: ClassVar[str] = ">"
    beyond: ClassVar[Callable[[Floats, float], Any]] = np.greater

    value: Annotated[float | None, Field(description="beyond which values are coded")] = None
    share: Annotated[
        float | None,
        Field(gt=0, lt=1, description="of the values, coded instead", json_schema_extra=PRIVATE),
    ] = None
    replace: Annotated[Literal["label", "mean"], Field(description="what takes their place")] = (
        "label"
    )

    def __init__(self, **parameters: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(**parameters)
        if self.value is not None and self.share is not None:
            raise ParameterError(f"{self.name} takes a value or a share, and not both.")

    def at(self, share: float) -> float:
        """Return the quantile beyond which a share of the values lies."""
        return 1 - share

    @property
    def alone(self) -> Alone:
        """With a given value equal numbers are coded alike; shares and means are of all."""
        return "value" if self.value is not None and self.replace == "label" else ""

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        """Code each column."""
        del rng
        made = {name: self._coded(table.column(name)) for name in columns}
        return Masked(table.changed(made), np.arange(len(table)))

    def _coded(self, column: Column) -> Column:
        there = column.values[~column.missing]
        limit = self.value
        if limit is None:
            share = 0.05 if self.share is None else self.share
            limit = float(np.quantile(there, self.at(share))) if len(there) else 0.0
        with np.errstate(invalid="ignore"):
            extreme = type(self).beyond(column.values, limit)
        if not extreme.any():
            return column
        if self.replace == "mean":
            values = column.values.copy()
            values[extreme] = column.values[extreme].mean()
            return Column(values)
        texts = column.texts.copy()
        texts[extreme] = f"{self.sign}{written(limit)}"
        return Column(texts)
