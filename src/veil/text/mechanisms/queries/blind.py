"""Blind: the same texts whatever the query, as a yardstick."""

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
    r"""Send `count` fixed public texts, taken evenly from a universe, whatever the query is.

    .. math:: q \mapsto \{ u(\lfloor i\, n / count \rfloor) : i = 0 \dots count - 1 \}

    **Proved**: the release does not depend on the query at all (0 bits). What comes back is
    re-ranked by the query on this machine, so that it is of some use all the same: any mechanism
    that is of less use at more risk is worth nothing.

    References
    ----------
    The case of one group of Murugesan, Clifton. Providing Privacy through Plausibly Deniable
    Search. SDM 2009. doi:10.1137/1.9781611972795.66
    """

    name: ClassVar[str] = "blind"
    paper: ClassVar[str] = "a yardstick"
    family: ClassVar[str] = "Cover groups"
    whole: ClassVar[bool] = True
    foes: ClassVar[tuple[str, ...]] = ("bayes",)

    source: Annotated[
        str,
        Field(min_length=1, description="public texts: icd10cm, wordnet, a collection or a file",
              examples=["icd10cm"]),
    ] = "icd10cm"  # fmt: skip
    count: Annotated[
        int, Field(ge=1, le=1_000, description="texts that are sent", examples=[20])
    ] = 20

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is told: 0 bits."""
        return Guarantee(
            "leakage",
            bits=0.0,
            unit="query",
            caveat="The engine sees the same texts whatever the query is, and learns nothing but"
            " that something was asked, and when.",
        )

    @property
    def size(self) -> int:
        """How many texts are sent."""
        return self.count

    def bind(self) -> "OpenedBlind":
        """Take the texts."""
        return OpenedBlind(_texts(self.source, self.count, _stamp(self.source)))


class OpenedBlind:
    """The texts, and the only address that there is."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._texts = texts

    def scramble(self, text: str, size: int) -> QueryRelease:
        """Return the texts."""
        del size
        return QueryRelease(self._texts, (), max(1, len(tokens(text))))

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query: 0."""
        return np.zeros(len(texts), dtype=np.int64)

    def group(self, address: int) -> tuple[str, ...]:
        """Return the texts."""
        del address
        return self._texts


def _stamp(source: str) -> int:
    """Return what changes with a file."""
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
            f"The universe has {len(universe):,} distinct texts, and {count:,} are to be sent;"
            " take a larger one, or fewer."
        )
    return tuple(universe.texts[i * len(universe) // count] for i in range(count))
