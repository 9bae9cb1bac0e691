"""Make a collection searchable for people who are not cleared."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.corpus.collection import KIND, Collection
from veil.corpus.folder import gather
from veil.corpus.sources import is_collection, load_collection
from veil.data.arrays import kind_of_folder
from veil.data.fetch import Report, silent
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import cross_validate
from veil.sensitive.features.heads import metadata_of
from veil.sensitive.labels import read_labels
from veil.sensitive.load import with_labels
from veil.sensitive.mails import mails_of
from veil.sensitive.train import train

_USUAL = "sensitivity.tsv"


def read_labelled(
    source: Path, sensitivity: Path | None, report: Report = silent
) -> SensitiveCollection:
    """Read documents of which some have a label; the others have -1.

    A folder that is no collection is one of files, as mails and notes: ids are their paths in it.
    """
    inside = source / _USUAL
    file = sensitivity or (inside if inside.is_file() else None)
    if file is None:
        raise InputError(
            "A classifier learns from labels; name a file with columns id and sensitive by"
            " --sensitivity."
        )
    collection = _opened(source, report)
    labels = read_labels(file, collection.documents.ids, partial=True)
    made = with_labels(collection, source, labels)
    if collection.files is None:
        return made
    return replace(made, metadata=tuple(map(metadata_of, collection.documents.texts)))


def _opened(source: Path, report: Report) -> Collection:
    if source.is_dir() and kind_of_folder(source) != KIND and not is_collection(source):
        return gather(source.resolve(), report=report)[0]
    return load_collection(source, report)


def probabilities(collection: SensitiveCollection, classifier: str) -> Floats:
    """Return p (n,) of every document, from models that were not trained on it.

    Labelled documents get out-of-fold values, the others those of a model of all labelled ones.
    """
    p = cross_validate(collection, classifier).p
    new = np.flatnonzero(collection.sensitive < 0)
    if len(new):
        mails = mails_of(collection)
        p[new] = train(collection, classifier).predict([mails[place] for place in new.tolist()])
    return p
