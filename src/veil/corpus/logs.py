"""Queries that people asked, one after the other: from a file, or from ir_datasets."""

from collections.abc import Iterator
from pathlib import Path

from veil.corpus.irds import read_irds_queries
from veil.data.records import read_texts


def read_log(name: str | Path) -> Iterator[str]:
    """Yield the queries of ``irds:ID``, or of a file, also a compressed one.

    A file is plain text, one query per line, or a table (CSV, TSV, JSONL, Parquet) with a column
    ``query`` or ``text``. Queries come as often as they were asked.
    """
    if isinstance(name, str) and name.startswith("irds:"):
        return read_irds_queries(name.removeprefix("irds:"))
    return read_texts(Path(name))
