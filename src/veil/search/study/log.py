"""The log of a study: at most so many queries of a file, of ir_datasets, or of the collection."""

from itertools import chain

import numpy as np

from veil.core.errors import InputError
from veil.corpus.collection import Collection
from veil.corpus.logs import read_log
from veil.corpus.wordnet import nouns
from veil.data.arrays import Strings
from veil.text.attacks.log import QueryLog

OWN = "collection"
WITH_NOUNS = "collection+wordnet"
LOGS = (OWN, WITH_NOUNS)


def open_log(name: str, collection: Collection, size: int) -> QueryLog:
    """Return the log of a study, at most `size` of its queries.

    ``collection`` has its own; ``collection+wordnet`` has the names of things as well, as people
    look them up, so that not every query of the log is of the collection's subject.
    """
    if name not in LOGS:
        return _evenly(QueryLog.of(read_log(name)), size)
    if not collection.log:
        raise InputError(
            f"The collection {collection.name} has no log of its own; name a file of queries, one"
            " per line, as the 'log' of the study."
        )
    more = nouns() if name == WITH_NOUNS else ()
    return _evenly(QueryLog.of(chain(collection.log, more)), size)


def _evenly(log: QueryLog, size: int) -> QueryLog:
    """Take queries from the whole length of a log."""
    if not 0 < size < len(log):
        return log
    places = np.arange(size) * len(log) // size
    return QueryLog(Strings.of(log.texts[int(i)] for i in places), log.counts[places])
