"""Base class of engines that search a collection on this machine."""

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
        str,
        Field(
            description="folder of a saved collection, instead of a collection", examples=["idx"]
        ),
    ] = ""

    def resolve_collection(self, collection: Collection | None) -> Collection:
        """Return `collection`, or the saved collection in `index`."""
        if (collection is None) == (not self.index):
            raise ParameterError(
                f"The {self.name} engine needs either a collection or the folder of one. Pass"
                f" veil.load_collection(...), or use {self.name}(index=FOLDER)."
            )
        return collection if collection is not None else open_collection(Path(self.index))


def local_ranking(
    collection: Collection, lists: Sequence[Ids], scores: Sequence[Floats], k: int
) -> Ranking:
    """Return a `Ranking` of lists of positions in a collection, best first."""
    used = np.unique(np.concatenate([*lists, np.empty(0, dtype=np.int64)])).astype(np.int64)
    index = np.full((len(lists), k), -1, dtype=np.int64)
    values = np.full((len(lists), k), -np.inf)
    for row, (positions, row_scores) in enumerate(zip(lists, scores, strict=True)):
        index[row, : len(positions)] = np.searchsorted(used, positions)
        values[row, : len(positions)] = row_scores
    documents, rows = collection.documents, used.tolist()
    return Ranking(
        tuple(documents.ids[i] for i in rows),
        index,
        values,
        tuple(documents.texts[i] for i in rows),
        tuple(documents.titles[i] for i in rows),
        ("",) * len(lists),
    )
