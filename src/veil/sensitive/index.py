"""A searchable collection on disk, with its sensitivity probabilities."""

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.core.types import Floats
from veil.corpus.catalogue import is_collection, load_collection
from veil.corpus.collection import KIND, Collection, open_collection
from veil.corpus.folder import gather
from veil.data.arrays import Array, kind_of_folder, open_arrays, save_arrays
from veil.data.fetch import Report, no_progress
from veil.data.files import whole_folder
from veil.sensitive.collection import Labels, SensitiveCollection, read_labels, with_labels
from veil.sensitive.cross_validate import cross_validate, train
from veil.sensitive.features import mails_of, metadata_of
from veil.sensitive.inputs import check_k, check_query, probabilities_of
from veil.sensitive.mechanism import Answer, Mechanism, Scene
from veil.sensitive.mechanisms import mechanism as mechanism_of

_USUAL = "sensitivity.tsv"


def read_labelled(
    source: Path, sensitivity: Path | None, report: Report = no_progress
) -> SensitiveCollection:
    """Return documents with their labels, -1 if missing.

    A folder that is not a collection has files such as mails and notes, whose paths are the ids.
    """
    inside = source / _USUAL
    file = sensitivity or (inside if inside.is_file() else None)
    if file is None:
        raise InputError(
            "A classifier learns from labels. Name a file with columns id and sensitive with"
            " --sensitivity."
        )
    collection = _opened(source, report)
    labels = read_labels(file, collection.documents.ids, partial=True)
    labelled = with_labels(collection, source, labels)
    if collection.files is None:
        return labelled
    return replace(labelled, metadata=tuple(map(metadata_of, collection.documents.texts)))


def _opened(source: Path, report: Report) -> Collection:
    if source.is_dir() and kind_of_folder(source) != KIND and not is_collection(source):
        return gather(source.resolve(), report=report)[0]
    return load_collection(source, report)


def probabilities(collection: SensitiveCollection, classifier: str) -> Floats:
    """Return p (n,) of each document, from models that were not trained on it.

    Labelled documents get out-of-fold values, and the others those of a model of all labels.
    """
    p = cross_validate(collection, classifier).p
    new = np.flatnonzero(collection.sensitive < 0)
    if len(new):
        mails = mails_of(collection)
        p[new] = train(collection, classifier).predict([mails[place] for place in new.tolist()])
    return p


ARRAYS_KIND, _VERSION = "veil-sensitive", 1


@brief("p")
@dataclass(frozen=True, eq=False)
class Stored:
    """An open index.

    Attributes
    ----------
    collection
        Documents, with human labels in `sensitive` (-1: no label).
    p
        (n,) probabilities of the classifier, nan if unknown.
    classifier
        Spec of the classifier.
    """

    collection: SensitiveCollection
    p: Floats
    classifier: str

    @property
    def scene(self) -> Scene:
        """Input of mechanisms; human labels override the classifier."""
        labels = self.collection.sensitive
        return Scene(self.collection, np.where(labels >= 0, labels, self.p))

    def search(self, query: str, mechanism: str | Mechanism, k: int = 10) -> Answer:
        """Return an answer for a searcher without clearance; documents with nan are withheld."""
        query, k = check_query(query), check_k(k)
        return mechanism_of(mechanism).open(self.scene).answer(query, k)


def store(
    folder: Path, collection: Collection, labels: Labels, p: Floats, spec: str,
    report: Report = no_progress,
) -> None:  # fmt: skip
    """Write an index to a new folder, atomically and readable by the owner only."""
    if folder.exists():
        raise InputError(f"{folder} already exists. Delete it, or name a new folder.")
    n = len(collection.documents)
    arrays: dict[str, Array] = {"probability": probabilities_of(p, n), "label": labels}
    try:
        with whole_folder(folder, private=True) as part:
            Collection.save(collection, part / "documents").lexical(report)
            facts = {"documents": collection.documents.digest, "classifier": spec}
            save_arrays(part / "sensitivity", ARRAYS_KIND, _VERSION, arrays, facts)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}).") from None


def open_stored(folder: Path) -> Stored:
    """Return an index, or raise if it is incomplete or its parts do not belong together."""
    refusal = InputError(
        f"{folder} is not an index of 'veil sensitive index', or it is damaged. Write it again."
    )
    if not folder.is_dir():
        raise InputError(
            f"The folder {folder} does not exist. Write it with 'veil sensitive index'."
        )
    content = open_arrays(folder / "sensitivity", ARRAYS_KIND, _VERSION)
    if content is None:
        raise refusal
    arrays, facts = content
    collection = open_collection(folder / "documents")
    n = len(collection.documents)
    labels, p = arrays.get("label"), arrays.get("probability")
    fits = facts.get("documents") == collection.documents.digest
    if labels is None or p is None or not fits or labels.shape != (n,):
        raise refusal
    if not np.isin(labels, (-1, 0, 1)).all():
        raise refusal
    parts = {entry.name: getattr(collection, entry.name) for entry in fields(Collection)}
    labelled = SensitiveCollection(**parts, sensitive=np.asarray(labels, dtype=np.int8))
    return Stored(labelled, probabilities_of(p, n), str(facts.get("classifier", "")))
