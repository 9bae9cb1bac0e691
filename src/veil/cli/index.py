"""``veil index``: make documents of one's own searchable."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from veil import api
from veil.cli.terminal import progress_bar, stderr
from veil.core.errors import InputError
from veil.data.files import whole_folder
from veil.encoders.vectors import document_vectors


@click.command()
@click.argument("source")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="folder to write, whole or not at all",
)
@click.option(
    "--encoder",
    "model",
    help="also compute vectors, for the dense engine and for re-ranking: minilm, wordllama or a"
    " Hugging Face name",
)
def index(source: str, out: Path, model: str | None) -> None:
    """Index the documents of SOURCE: JSONL, TSV or TREC files, a folder, or irds:ID."""
    if out.exists():
        raise InputError(f"There is a {out} already; delete it, or name a new folder.")
    with progress_bar() as report:
        encoder = api.encoder(model, report) if model else None
        documents = api.load_collection(source, report)
        with _written(out), whole_folder(out, private=True) as part:
            collection = documents.save(part / "made")
            lexical = collection.lexical(report)
            if encoder is not None:
                passages, folder = collection.documents.passages, collection.vectors_folder
                kept = document_vectors(passages, encoder, folder, report).path
            if not (part / "made" / "lexical").is_dir() or (encoder and kept is None):
                raise OSError  # to search, they would do without; here they are what is asked for
            for made in (part / "made").iterdir():
                made.rename(part / made.name)
            (part / "made").rmdir()
    stderr().print(
        f"{len(collection.documents):,} documents, {len(lexical.spelt):,} terms"
        f"{f', vectors of {model}' if model else ''} in {out}. Search it with: veil search"
        f" --engine {_engine(out)} ...",
        markup=False,
    )


@contextmanager
def _written(out: Path) -> Iterator[None]:
    """Say that an index could not be written, and where."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "there may be no room left"
        raise InputError(f"{out} cannot be written ({reason}); nothing was left there.") from None


def _engine(out: Path) -> str:
    """Return what to type after --engine, in quotes where the name needs them."""
    plain = re.fullmatch(r"[\w./~-]+", str(out))
    return f"'bm25(index={out})'" if plain else shlex.quote(f"bm25(index={str(out)!r})")
