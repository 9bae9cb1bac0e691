"""Read the queries of a log: from a text file, from ir_datasets, or those of a collection."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from veil.core.errors import AssetError, InputError, MissingExtraError, UnknownNameError
from veil.corpus.collection import Collection
from veil.data.strings import Strings
from veil.text.attacks.log import QueryLog


def open_log(name: str, collection: Collection, size: int) -> QueryLog:
    """Return the log of a study, at most `size` of its queries; ``collection`` has its own."""
    if name != "collection":
        return _evenly(QueryLog.of(read_log(name)), size)
    if not collection.log:
        raise InputError(
            f"The collection {collection.name} has no log of its own; name a file of queries, one"
            " per line, as the 'log' of the study."
        )
    return _evenly(QueryLog.of(collection.log), size)


def _evenly(log: QueryLog, size: int) -> QueryLog:
    """Take queries from the whole length of a log."""
    if not 0 < size < len(log):
        return log
    places = np.arange(size) * len(log) // size
    return QueryLog(Strings.of(log.texts[int(i)] for i in places), log.counts[places])


def read_log(name: str) -> Iterator[str]:
    """Yield the queries of ``irds:ID``, or of a file with one per line, also a compressed one."""
    if name.startswith("irds:"):
        return _irds(name.removeprefix("irds:"))
    return _lines(Path(name))


def _irds(identifier: str) -> Iterator[str]:
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtraError(
            "A log of ir_datasets needs it: pip install 'veil[irds]'."
        ) from None
    try:
        for query in ir_datasets.load(identifier).queries_iter():
            yield str(query.default_text())
    except (KeyError, AttributeError):
        raise UnknownNameError(
            f"ir_datasets knows no queries of '{identifier[:60]}'; see its catalogue for the ids."
        ) from None
    except (OSError, RuntimeError) as error:
        raise AssetError(
            f"The log irds:{identifier} could not be had ({type(error).__name__}); check the"
            " connection, and what ir_datasets says about its licence."
        ) from None


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, also a compressed one."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"The log {path.name} cannot be read after line {number:,} ({type(error).__name__})."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"Line {number:,} of the log {path.name} is not UTF-8.") from None
