"""What engines on this machine have in common."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids, Ranking
from veil.corpus.collection import Collection, open_collection


def collection_of(name: str, index: str, given: Collection | None) -> Collection:
    """Return the collection an engine is to search: the one given, or a saved one."""
    if (given is None) == (not index):
        raise ParameterError(
            f"The {name} engine needs either a collection, as veil.load_collection gives, or the"
            f" folder of one, as {name}(index=FOLDER)."
        )
    return given if given is not None else open_collection(Path(index))


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
