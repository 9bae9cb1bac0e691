"""Folds of documents: as many sensitive ones in each, and copies in one."""

import re
from collections.abc import Iterable

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.types import Ids
from veil.sensitive.collection import Labels
from veil.sensitive.features.heads import body_of

_START = 200  # characters of the folded text that make two documents copies
_SPACE = re.compile(r"\W+")


def copies(texts: Iterable[str]) -> Ids:
    """Return the group (n,) of each text; those that begin alike are one group.

    Heads of mails do not count: copies have others.

    >>> copies(["Dear all,  hello", "dear all: Hello", "Bye"]).tolist()
    [0, 0, 1]
    """
    numbers: dict[str, int] = {}
    starts = (_SPACE.sub(" ", body_of(text).lower())[:_START] for text in texts)
    return np.array([numbers.setdefault(start, len(numbers)) for start in starts], dtype=np.int64)


def folds_of(labels: Labels, groups: Ids, folds: int, rng: Generator) -> Ids:
    """Return the fold (n,) of each document: whole groups, and labels spread evenly.

    Groups come in a random order, those with sensitive documents first and large ones before
    small ones; each goes where the fewest sensitive documents are, then the fewest of all.
    """
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not 2 <= folds <= 100:
        raise ParameterError("The 'folds' argument must be a whole number from 2 to 100.")
    number, members = np.unique(groups, return_inverse=True)
    sizes = np.bincount(members)
    hot = np.bincount(members, labels == 1).astype(np.int64)
    order = rng.permutation(len(number))
    order = order[np.lexsort((-sizes[order], -hot[order]))]
    full = np.zeros((folds, 2), dtype=np.int64)
    place = np.zeros(len(number), dtype=np.int64)
    for group in order.tolist():
        keys = (full[:, 1], full[:, 0]) if hot[group] else (full[:, 1],)
        fold = int(np.lexsort(keys)[0])
        place[group] = fold
        full[fold] += hot[group], sizes[group]
    _check(labels, place[members], folds)
    found: Ids = place[members]
    return found


def _check(labels: Labels, fold: Ids, folds: int) -> None:
    for number in range(folds):
        if len(np.unique(labels[fold == number])) < 2:
            raise InputError(
                "A fold has fewer than two classes; give more documents of both kinds, or fewer"
                " folds."
            )
