"""What engines on this machine have in common."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids, Ranking
from veil.corpus.collection import Collection, open_collection
from veil.search.engines.engine import EngineSpec


class LocalSpec(EngineSpec):
    """Parameters of an engine that searches a collection on this machine."""

    collects: ClassVar[bool] = True

    index: Annotated[
        str, Field(description="folder of a saved collection, if none is given", examples=["idx"])
    ] = ""

    def chosen(self, given: Collection | None) -> Collection:
        """Return the collection to search: the one given, or a saved one."""
        if (given is None) == (not self.index):
            raise ParameterError(
                f"The {self.name} engine needs either a collection, as veil.load_collection gives,"
                f" or the folder of one, as {self.name}(index=FOLDER)."
            )
        return given if given is not None else open_collection(Path(self.index))


def local_ranking(
    collection: Collection, lists: Sequence[Ids], scores: Sequence[Floats], k: int
) -> Ranking:
    """Put lists of positions in a collection, best first, into one `Ranking`."""
    used = np.unique(np.concatenate([*lists, np.empty(0, dtype=np.int64)])).astype(np.int64)
    index = np.full((len(lists), k), -1, dtype=np.int64)
    values = np.full((len(lists), k), -np.inf)
    for row, (positions, own) in enumerate(zip(lists, scores, strict=True)):
        index[row, : len(positions)] = np.searchsorted(used, positions)
        values[row, : len(positions)] = own
    documents = collection.documents
    places = used.tolist()
    return Ranking(
        tuple(documents.ids[i] for i in places),
        index,
        values,
        tuple(documents.texts[i] for i in places),
        tuple(documents.titles[i] for i in places),
        ("",) * len(lists),
    )
