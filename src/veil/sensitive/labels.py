"""Labels of sensitivity from a file: id, and 1 or 0. Reasons that stand beside are not read."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.data.lines import suffix_of
from veil.data.rows import Layout, read_table
from veil.sensitive.collection import Labels

_VALUES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


def read_labels(path: Path, ids: Sequence[str], *, partial: bool = False) -> Labels:
    """Return the label (n,) of each document; `partial` allows some without one, which get -1.

    Only the columns ``id`` and ``sensitive`` are read: categories that explain a label would
    give it away to a classifier.
    """
    layout = Layout("\t", quotes=False) if suffix_of(path) == ".tsv" else Layout()
    _, rows = read_table(path, ("id", "sensitive"), layout)
    places = {name: place for place, name in enumerate(ids)}
    labels = np.full(len(places), -1, dtype=np.int8)
    for row in rows:
        name, value = row.values
        place = places.get(name)
        if place is None:
            raise InputError(
                f"{row.where(path.name)} names a document that the collection does not have;"
                " remove it."
            )
        if labels[place] >= 0:
            raise InputError(f"{row.where(path.name)} gives a document a second label; remove it.")
        if value.strip().lower() not in _VALUES:
            raise InputError(f"{row.where(path.name)} has a label other than 0 or 1; repair it.")
        labels[place] = _VALUES[value.strip().lower()]
    missing = int((labels < 0).sum())
    if missing and not partial:
        raise InputError(
            f"{missing:,} of {len(labels):,} documents have no label in {path.name}; a test"
            " collection needs one for each."
        )
    return labels
