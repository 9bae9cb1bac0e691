"""A searchable collection on disk: texts, probabilities, and what humans said; for its owner."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.corpus.collection import Collection, open_collection
from veil.data.arrays import Array, open_arrays, save_arrays
from veil.data.fetch import Report, silent
from veil.data.files import whole_folder
from veil.sensitive.collection import Labels, SensitiveCollection
from veil.sensitive.probabilities import probabilities_of
from veil.sensitive.reading import check_k
from veil.sensitive.strategies import strategy as strategy_of
from veil.sensitive.strategy import Answer, Scene, Strategy

KIND, _VERSION = "veil-sensitive", 1


@dataclass(frozen=True, eq=False)
class Stored:
    """An index that was opened.

    Attributes
    ----------
    collection
        Texts, and in `sensitive` what humans said (-1: nothing).
    p
        (n,) what a classifier said; nan where it said nothing.
    classifier
        Its spec.
    """

    collection: SensitiveCollection
    p: Floats
    classifier: str

    @property
    def scene(self) -> Scene:
        """What strategies work on: what a human said wins over the classifier."""
        said = self.collection.sensitive
        return Scene(self.collection, np.where(said >= 0, said, self.p))

    def search(self, query: str, strategy: str | Strategy, k: int = 10) -> Answer:
        """Answer a query for who is not cleared; what has no probability is withheld."""
        return strategy_of(strategy).open(self.scene).answer(query, check_k(k))


def store(
    folder: Path, collection: Collection, labels: Labels, p: Floats, spec: str,
    report: Report = silent,
) -> None:  # fmt: skip
    """Write an index into a new folder for its owner alone, whole or not at all."""
    if folder.exists():
        raise InputError(f"There is a {folder} already; delete it, or name a new folder.")
    n = len(collection.documents)
    arrays: dict[str, Array] = {"probability": probabilities_of(p, n), "label": labels}
    try:
        with whole_folder(folder, private=True) as part:
            Collection.save(collection, part / "documents").lexical(report)
            facts = {"documents": collection.documents.digest, "classifier": spec}
            save_arrays(part / "sensitivity", KIND, _VERSION, arrays, facts)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}).") from None


def open_stored(folder: Path) -> Stored:
    """Open an index; one that is not whole, or whose parts do not fit, is refused."""
    refusal = InputError(
        f"{folder} is no index of 'veil sensitive index', or it is damaged; write it again."
    )
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}; write it with 'veil sensitive index'.")
    found = open_arrays(folder / "sensitivity", KIND, _VERSION)
    if found is None:
        raise refusal
    arrays, facts = found
    collection = open_collection(folder / "documents")
    n = len(collection.documents)
    labels, p = arrays.get("label"), arrays.get("probability")
    fits = facts.get("documents") == collection.documents.digest
    if labels is None or p is None or not fits or labels.shape != (n,):
        raise refusal
    if not np.isin(labels, (-1, 0, 1)).all():
        raise refusal
    same = {one.name: getattr(collection, one.name) for one in fields(Collection)}
    kept = SensitiveCollection(**same, sensitive=np.asarray(labels, dtype=np.int8))
    return Stored(kept, probabilities_of(p, n), str(facts.get("classifier", "")))
