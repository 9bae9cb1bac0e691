"""Collections by name: the built-in ones, those of ir_datasets, and folders and files."""

from pathlib import Path

from veil.core.errors import UnknownNameError
from veil.corpus.collection import KIND, Collection, open_collection
from veil.corpus.icd10cm import NAMES, load_icd10cm
from veil.corpus.irds import read_irds
from veil.corpus.sources import read_source
from veil.data.arrays import kind_of_folder
from veil.data.fetch import Report, silent

__all__ = ["Collection", "load_collection"]


def load_collection(name: str | Path, report: Report = silent) -> Collection:
    """Open a collection by name or path.

    ``icd10cm`` and ``icd10cm-full`` are built in: the US classification of diagnoses. ``irds:ID``
    is anything that ir_datasets knows. A path is a folder written by ``veil index``, a folder with
    docs, queries and qrels, or a file of documents (JSONL, TSV, TREC).
    """
    if isinstance(name, str):
        if name in NAMES:
            return load_icd10cm(name, report)
        if name.startswith("irds:"):
            return read_irds(name.removeprefix("irds:"), report)
    path = Path(name)
    if path.is_dir() and kind_of_folder(path) == KIND:
        return open_collection(path)
    if not path.exists():
        raise UnknownNameError(
            f"There is no such collection, folder or file; known names: {', '.join(NAMES)},"
            " irds:ID."
        )
    return read_source(path, report)
