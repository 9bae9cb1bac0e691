"""Lists with what is known of their documents, as arrays that every measure reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats

Flags = NDArray[np.bool_]
Pool = Literal["collection", "judged"]


def discounts(k: int) -> Floats:
    """Return D(i) = 1/log2(i + 1) of the ranks 1 to k."""
    return 1 / np.log2(np.arange(2, k + 2))


@dataclass(frozen=True, slots=True)
class Prices:
    """What showing a sensitive document costs, and among which lists a list is placed.

    `cost` is C of the first; each further one costs `decay` times the one above. `penalty` is M of
    TERN and SENS.
    """

    cost: float = 12.0
    penalty: float = 1.0
    pool: Pool = "collection"
    decay: float = 1.0

    def of(self, count: Any) -> Any:  # noqa: ANN401 - a number, or an array of them
        """Return what `count` sensitive documents cost: C (1 + decay + decay^2 + ...)."""
        if self.decay == 1:
            return self.cost * count
        return self.cost * (1 - self.decay**count) / (1 - self.decay)


@dataclass(frozen=True, eq=False)
class Judged:
    """The first k of one list per query.

    Attributes
    ----------
    grades
        (n, k) grade of each document shown, 0 if it was not judged or the list ends before.
    sensitive
        (n, k) whether each document shown is sensitive.
    hot, cold
        Per query the grades above 0 of all its sensitive and its other documents, best first.
    sizes
        (n, 2) judged documents, the sensitive ones and the others.
    relevant
        Per query the judged documents with a grade above 0.
    total
        Documents of the whole collection, the sensitive ones and the others.
    """

    k: int
    queries: tuple[str, ...]
    lists: tuple[Sequence[str], ...]
    grades: Floats
    sensitive: Flags
    hot: tuple[Sequence[int], ...]
    cold: tuple[Sequence[int], ...]
    sizes: NDArray[np.int64]
    total: tuple[int, int]
    relevant: tuple[Mapping[str, int], ...]
    labels: Mapping[str, int]
    extremes: dict[Prices, tuple[Floats, Floats]] = field(default_factory=dict)  # once computed

    @cached_property
    def gains(self) -> Floats:
        """Gain 2^grade - 1 of each document shown (n, k)."""
        return 2**self.grades - 1

    @cached_property
    def visible(self) -> dict[str, dict[str, int]]:
        """Grades above 0 of documents that are not sensitive, by query."""
        return {
            query: {name: grade for name, grade in relevant.items() if not self.labels[name]}
            for query, relevant in zip(self.queries, self.relevant, strict=True)
        }

    @cached_property
    def any_sensitive(self) -> Flags:
        """Whether a sensitive document is shown (n,)."""
        return np.asarray(self.sensitive.any(axis=1))
