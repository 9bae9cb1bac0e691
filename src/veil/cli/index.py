"""``veil index``: index the user's own documents."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from veil import api
from veil.cli.terminal import NEW, progress_bar, stderr
from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.core.types import Encoder
from veil.corpus.catalogue import is_collection
from veil.corpus.collection import KIND, Collection, open_collection
from veil.corpus.folder import IndexChanges, gather
from veil.corpus.icd10cm import NAMES
from veil.corpus.listing import Listing
from veil.corpus.readers.reader import REASONS
from veil.data.arrays import kind_of_folder
from veil.data.fetch import Report
from veil.data.files import new_folder, whole_folder
from veil.encoders.vectors import CachedEncoder, document_vectors, open_document_vectors


@click.command()
@click.argument("source")
@click.option(
    "-o",
    "--out",
    type=NEW,
    required=True,
    help="Folder to write, completely or not at all.",
)
@click.option(
    "--encoder",
    "model",
    help="Text encoder for vectors, which the dense engine and re-ranking use: minilm, wordllama"
    " or a Hugging Face name.  [default: none, or that of the index being updated]",
)
def index(source: str, out: Path, model: str | None) -> None:
    """Index your own documents for search.

    SOURCE is a JSONL, TSV or TREC file, irds:ID, or a folder.

    A folder with a file docs.jsonl (or .tsv, .trec ...) is a collection. From any other folder,
    .txt, .md, .html, .pdf, .docx, .eml and .mbox files are read, including subfolders. Reading
    .pdf and .docx needs the extra 'documents'. Run the command again to update the index: it reads
    new and changed files and removes deleted ones.
    """
    own = _is_own(source)
    before = _before(Path(source), out) if own else None
    if out.exists() and before is None:
        raise InputError(f"Folder {out} already exists. Delete it or choose another.")
    previous_model = before.files.model if before is not None and before.files is not None else ""
    spec = model or previous_model
    with progress_bar() as report:
        encoder = api.encoder(spec, report) if spec else None
        changes = None
        if own:
            collection, changes = gather(Path(source).resolve(), before, spec, report)
        else:
            collection = api.load_collection(source, report)
        if (
            before is not None
            and changes is not None
            and not changes.any
            and spec == previous_model
        ):
            _tell_files(collection.files, changes)
            stderr().print(f"{out} is up to date.", markup=False)
            return
        if encoder is not None and before is not None:
            encoder = _remembering(encoder, before)
        with _written(out, updating=before is not None):
            terms = _write(collection, out, encoder, report, anew=before is not None)
    if changes is not None:
        _tell_files(collection.files, changes)
    stderr().print(
        f"{len(collection.documents):,} documents, {terms:,} terms"
        f"{f', vectors of {spec}' if spec else ''} in {out}. Search with: veil search"
        f" --engine {_engine(out)} ...",
        markup=False,
    )


def _is_own(source: str) -> bool:
    """Return whether the source is a folder of the user's files, not a collection or index."""
    path = Path(source)
    if source in NAMES or source.startswith("irds:") or not path.is_dir():
        return False
    return kind_of_folder(path) != KIND and not is_collection(path)


def _before(root: Path, out: Path) -> Collection | None:
    """Return the existing index `out` of the same folder, or None."""
    if not out.is_dir() or out.is_symlink() or kind_of_folder(out) != KIND:
        return None
    previous = open_collection(out)
    same = previous.files is not None and previous.files.root == root.resolve()
    return previous if same else None


def _remembering(encoder: Encoder, before: Collection) -> Encoder:
    passages, folder = before.documents.passages, before.vectors_folder
    vectors = open_document_vectors(passages, encoder, folder)
    return encoder if vectors is None else CachedEncoder(encoder, vectors)


def _write(
    source: Collection, out: Path, encoder: Encoder | None, report: Report, *, anew: bool
) -> int:
    """Write the index, replacing an existing one, and return the number of terms."""
    with new_folder(out) if anew else whole_folder(out, private=True) as part:
        collection = replace(source, home=None).save(part / "made")
        lexical = collection.lexical(report)
        vectors_path = None
        if encoder is not None:
            passages, folder = collection.documents.passages, collection.vectors_folder
            vectors_path = document_vectors(passages, encoder, folder, report).path
        if not (part / "made" / "lexical").is_dir() or (encoder and vectors_path is None):
            raise OSError  # a search could do without them, but this command must write them
        for entry in (part / "made").iterdir():
            entry.rename(part / entry.name)
        (part / "made").rmdir()
    return len(lexical.spelt)


def _tell_files(files: Listing | None, changes: IndexChanges) -> None:
    """Print how many files were read, and how many were skipped for each reason; no names."""
    if files is None:
        return
    console = stderr()
    console.print(
        f"{count_of(len(files.rows), 'file')}: {changes.new:,} new, {changes.changed:,} changed,"
        f" {changes.unchanged:,} unchanged, {changes.removed:,} removed."
    )
    for reason, count in sorted(files.skipped.items()):
        console.print(f"Skipped {count:,}: {REASONS[reason]}.", markup=False)


@contextmanager
def _written(out: Path, *, updating: bool) -> Iterator[None]:
    """Raise an InputError that names the folder if the index cannot be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "the disk may be full"
        state = "The index is unchanged" if updating else "No files were left there"
        raise InputError(f"Cannot write {out} ({reason}). {state}.") from None


def _engine(out: Path) -> str:
    """Return the value of --engine for the index, quoted for a shell."""
    unquoted = re.fullmatch(r"[\w./~-]+", str(out))
    return f"'bm25(index={out})'" if unquoted else shlex.quote(f"bm25(index={str(out)!r})")
