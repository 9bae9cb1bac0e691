"""``veil index``: make documents of one's own searchable."""

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
    help="folder to write, whole or not at all",
)
@click.option(
    "--encoder",
    "model",
    help="also compute vectors, for the dense engine and for re-ranking: minilm, wordllama or a"
    " Hugging Face name  [default: as before, where an index is brought up to date]",
)
def index(source: str, out: Path, model: str | None) -> None:
    """Index your own documents for search.

    SOURCE is a JSONL, TSV or TREC file, irds:ID, or a folder.

    A folder with a file docs.jsonl (or .tsv, .trec ...) is a collection. Any other folder is one
    of your own files: .txt, .md, .html, .pdf, .docx, .eml and .mbox are read, in folders within
    it, too; the extra 'documents' reads .pdf and .docx. Run again, it reads what is new or changed
    and takes out what is gone.
    """
    own = _is_own(source)
    before = _before(Path(source), out) if own else None
    if out.exists() and before is None:
        raise InputError(f"There is a {out} already; delete it, or name a new folder.")
    known = before.files.model if before is not None and before.files is not None else ""
    spec = model or known
    with progress_bar() as report:
        encoder = api.encoder(spec, report) if spec else None
        changes = None
        if own:
            made, changes = gather(Path(source).resolve(), before, spec, report)
        else:
            made = api.load_collection(source, report)
        if before is not None and changes is not None and not changes.any and spec == known:
            _tell_files(made.files, changes)
            stderr().print(f"{out} is up to date.", markup=False)
            return
        if encoder is not None and before is not None:
            encoder = _remembering(encoder, before)
        with _written(out, kept=before is not None):
            terms = _write(made, out, encoder, report, anew=before is not None)
    if changes is not None:
        _tell_files(made.files, changes)
    stderr().print(
        f"{len(made.documents):,} documents, {terms:,} terms"
        f"{f', vectors of {spec}' if spec else ''} in {out}. Search it with: veil search"
        f" --engine {_engine(out)} ...",
        markup=False,
    )


def _is_own(source: str) -> bool:
    """Tell whether the source is a folder of files, and no collection or index."""
    path = Path(source)
    if source in NAMES or source.startswith("irds:") or not path.is_dir():
        return False
    return kind_of_folder(path) != KIND and not is_collection(path)


def _before(root: Path, out: Path) -> Collection | None:
    """Open the index that was made of the same folder, if it is one."""
    if not out.is_dir() or out.is_symlink() or kind_of_folder(out) != KIND:
        return None
    found = open_collection(out)
    same = found.files is not None and found.files.root == root.resolve()
    return found if same else None


def _remembering(encoder: Encoder, before: Collection) -> Encoder:
    passages, folder = before.documents.passages, before.vectors_folder
    vectors = open_document_vectors(passages, encoder, folder)
    return encoder if vectors is None else CachedEncoder(encoder, vectors)


def _write(
    made: Collection, out: Path, encoder: Encoder | None, report: Report, *, anew: bool
) -> int:
    """Write the index, in place of the one before if there is one; return the number of terms."""
    with new_folder(out) if anew else whole_folder(out, private=True) as part:
        collection = replace(made, home=None).save(part / "made")
        lexical = collection.lexical(report)
        kept = None
        if encoder is not None:
            passages, folder = collection.documents.passages, collection.vectors_folder
            kept = document_vectors(passages, encoder, folder, report).path
        if not (part / "made" / "lexical").is_dir() or (encoder and kept is None):
            raise OSError  # to search, they would do without; here they are what is asked for
        for each in (part / "made").iterdir():
            each.rename(part / each.name)
        (part / "made").rmdir()
    return len(lexical.spelt)


def _tell_files(files: Listing | None, changes: IndexChanges) -> None:
    """Say what was read, and what was not: a line for each reason, and no name."""
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
def _written(out: Path, *, kept: bool) -> Iterator[None]:
    """Say that an index could not be written, and where."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "there may be no room left"
        left = "the index is as it was" if kept else "nothing was left there"
        raise InputError(f"{out} cannot be written ({reason}); {left}.") from None


def _engine(out: Path) -> str:
    """Return what to type after --engine, in quotes where the name needs them."""
    plain = re.fullmatch(r"[\w./~-]+", str(out))
    return f"'bm25(index={out})'" if plain else shlex.quote(f"bm25(index={str(out)!r})")
