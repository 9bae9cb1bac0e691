"""Open tables by name: the built-in ones, which are built once and cached, and folders."""

import hashlib
from pathlib import Path

from veil.core.errors import InputError, ParameterError
from veil.corpus.icd10cm import NAMES, icd10cm_folder
from veil.corpus.wordnet import wordnet_folder
from veil.cover.builder import CELL, TRACKS, WORDS, build
from veil.cover.table import BUILD, Table, open_table
from veil.cover.universe import BUILT_IN, NOUNS
from veil.data.arrays import discard
from veil.data.fetch import Report, cache_folder, no_progress

_MAX_OPEN = 16
_opened: dict[tuple[str, int], Table] = {}


def load(
    path: str | Path,
    *,
    tracks: int | None = None,
    cell: int | None = None,
    words: int | None = None,
    report: Report = no_progress,
) -> Table:
    """Open a table: a folder written by ``veil cover build``, or a built-in table by name.

    The table of ``icd10cm`` or ``wordnet`` is built the first time and cached. For these,
    `tracks`, `cell` and `words` select the table; a folder must agree with them, if they are
    given.
    """
    if str(path) in BUILT_IN:
        return _load_built_in(
            str(path),
            TRACKS if tracks is None else tracks,
            CELL if cell is None else cell,
            WORDS if words is None else words,
            report,
        )
    table = _open(Path(path))
    expected = {
        "tracks": (tracks, table.k),
        "cell": (cell, table.cell),
        "words": (words, table.words),
    }
    for name, (value, actual) in expected.items():
        if value is not None and value != actual:
            raise ParameterError(
                f"The '{name}' of the table {path} must be {actual}. Got {value} instead. Leave"
                " it out, or build another table."
            )
    return table


def rebuild(name: str, tracks: int, cell: int, words: int, report: Report = no_progress) -> Table:
    """Open a built-in table, rebuilt if it was built with a different encoder."""
    table = _load_built_in(name, tracks, cell, words, report)
    try:
        table.encode([""])
    except InputError:
        discard(_folder(name, tracks, cell, words))
        table = _load_built_in(name, tracks, cell, words, report)
    return table


def is_cached(name: str, tracks: int = TRACKS, cell: int = CELL, words: int = WORDS) -> bool:
    """Return whether a built-in table exists, so that it opens at once."""
    return _folder(name, tracks, cell, words).is_dir()


def _load_built_in(name: str, tracks: int, cell: int, words: int, report: Report) -> Table:
    folder = _folder(name, tracks, cell, words)
    if folder.is_dir():
        try:
            return _open(folder)
        except InputError:  # damaged: rebuild
            discard(folder)
    table = build(name, tracks, cell, words, report=report)
    try:
        table.save(folder)
    except (OSError, InputError):  # disk full, or another process was faster
        return table
    return _open(folder)


def _folder(name: str, tracks: int, cell: int, words: int) -> Path:
    """Return the cache folder, named after everything that determines the table."""
    nouns = f"wordnet-{wordnet_folder().name}-{NOUNS}"
    source = icd10cm_folder(name).name if name in NAMES else nouns
    parameters = f"{BUILD} {source} {tracks} {cell} {words}"
    digest = hashlib.blake2b(parameters.encode(), digest_size=6).hexdigest()
    return cache_folder() / "cover" / f"{name}-{digest}"


def _open(folder: Path) -> Table:
    """Open a table once per process, unless its folder changes."""
    try:
        state = (folder / "meta.json").stat()
        key = (str(folder.resolve()), state.st_mtime_ns ^ state.st_ino)
    except OSError:
        return open_table(folder)  # raises a helpful error
    if key not in _opened:
        while len(_opened) >= _MAX_OPEN:
            del _opened[next(iter(_opened))]
        _opened[key] = open_table(folder)
    return _opened[key]
