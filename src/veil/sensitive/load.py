"""A test collection of sensitive documents from its folder."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.corpus.collection import Collection
from veil.corpus.sources import load_collection
from veil.data.fetch import Report, silent
from veil.data.rows import Header, Row, read_rows
from veil.sensitive.collection import Labels, Metadata, SensitiveCollection
from veil.sensitive.labels import read_labels

_KEYS = ("date", "from", "recipients")
_ID = ("id", "_id")


def load(
    path: str | Path, sensitivity: str | Path | None = None, report: Report = silent
) -> SensitiveCollection:
    """Read docs.jsonl, queries.jsonl, qrels.txt and sensitivity.tsv of a folder.

    Every document needs a label. A query may have a ``topic``, a document a ``date``, a ``from``
    and a number of ``recipients``. `sensitivity` names the labels if they lie elsewhere.
    """
    folder = Path(path)
    file = folder / "sensitivity.tsv" if sensitivity is None else Path(sensitivity)
    if not file.is_file():
        raise InputError(
            f"There is no file {file.name} with the labels of the documents; name one, or make"
            " labels with sensitive.simulate."
        )
    collection = load_collection(folder, report)
    return with_labels(collection, folder, read_labels(file, collection.documents.ids))


def with_labels(collection: Collection, folder: Path, labels: Labels) -> SensitiveCollection:
    """Put labels, topics and metadata to a collection that was read of a folder or a file."""
    same = {one.name: getattr(collection, one.name) for one in fields(Collection)}
    inside = folder.is_dir()
    docs = folder / "docs.jsonl" if inside else folder
    queries = folder / "queries.jsonl"
    topics = {
        str(row.values[0] if row.values[0] is not None else row.values[1]): str(row.values[2])
        for row in (_rows(queries, (*_ID, "topic")) if inside else ())
        if row.values[2] is not None
    }
    metadata = tuple(_metadata(row.values[2:]) for row in _rows(docs, (*_ID, *_KEYS)))
    if len(metadata) != len(collection.documents) or not any(metadata):
        metadata = ()
    return SensitiveCollection(**same, sensitive=labels, topics=topics, metadata=metadata)


def _rows(path: Path, names: Sequence[str]) -> Iterator[Row[Any]]:
    """Yield columns of JSON lines, None where one is missing; nothing of another kind of file."""
    if path.suffix not in (".jsonl", ".ndjson") or not path.is_file():
        return iter(())
    return read_rows(path, _picks(names))


def _picks(names: Sequence[str]) -> Callable[[Header], list[int]]:
    return lambda header: [header.find((name,)) for name in names]


def _metadata(values: Sequence[object]) -> Metadata:
    return {
        key: value
        for key, value in zip(_KEYS, values, strict=True)
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
