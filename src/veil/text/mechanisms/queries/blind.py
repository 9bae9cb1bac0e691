"""Blind: the same texts for every query, as a baseline."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.corpus.tokens import tokens
from veil.cover.universe import read_universe
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease


class Blind(QueryMechanism):
    r"""Send the same `count` public texts for every query, taken evenly from a list of texts.

    .. math:: q \mapsto \{ u(\lfloor i\, n / count \rfloor) : i = 0 \dots count - 1 \}

    **Proved**: the release does not depend on the query at all (0 bits). The results are re-ranked
    by the query on this machine, so they still have some utility. A mechanism with less utility at
    more risk is worthless.

    References
    ----------
    The special case of one group in Murugesan, Clifton. Providing Privacy through Plausibly
    Deniable Search. SDM 2009. doi:10.1137/1.9781611972795.66
    """

    name: ClassVar[str] = "blind"
    paper: ClassVar[str] = "a baseline"
    family: ClassVar[str] = "Cover groups"
    whole: ClassVar[bool] = True
    foes: ClassVar[tuple[str, ...]] = ("bayes",)

    source: Annotated[
        str,
        Field(min_length=1, description="public texts: icd10cm, wordnet, a collection or a file",
              examples=["icd10cm"]),
    ] = "icd10cm"  # fmt: skip
    count: Annotated[
        int, Field(ge=1, le=1_000, description="number of texts to send", examples=[20])
    ] = 20

    @property
    def guarantee(self) -> Guarantee:
        """Reveals nothing: 0 bits."""
        return Guarantee(
            "leakage",
            bits=0.0,
            unit="query",
            caveat="The engine sees the same texts for every query. It learns only that a search"
            " was made, and when.",
        )

    @property
    def size(self) -> int:
        """Number of texts sent."""
        return self.count

    def bind(self) -> "OpenedBlind":
        """Select the texts."""
        return OpenedBlind(_texts(self.source, self.count, _stamp(self.source)))


class OpenedBlind:
    """The texts: a table with a single group, at address 0."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._texts = texts

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return all texts."""
        del size
        return QueryRelease(self._texts, (), max(1, len(tokens(text))))

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query: 0."""
        return np.zeros(len(texts), dtype=np.int64)

    def group(self, address: int) -> tuple[str, ...]:
        """Return all texts."""
        del address
        return self._texts


def _stamp(source: str) -> int:
    """Return the time of the last change of a file, or 0 if there is no file."""
    try:
        return Path(source).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _texts(source: str, count: int, stamp: int) -> tuple[str, ...]:
    del stamp
    universe = read_universe(source)
    if len(universe) < count:
        raise InputError(
            f"'count' must be at most the number of distinct texts, {len(universe):,}. Got"
            f" {count:,} instead. Use another source or a smaller count."
        )
    return tuple(universe.texts[i * len(universe) // count] for i in range(count))
