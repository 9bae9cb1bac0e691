"""Tables by name: the built-in ones, made once and kept in the cache, and folders."""

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
    """Open a table: a folder that ``veil cover build`` wrote, or a built-in universe by name.

    The table of ``icd10cm`` or ``wordnet`` is built the first time, and kept in the cache.
    `tracks`, `cell` and `words` choose among those; a folder must have them, where they are named.
    """
    if str(path) in BUILT_IN:
        return _named(
            str(path),
            TRACKS if tracks is None else tracks,
            CELL if cell is None else cell,
            WORDS if words is None else words,
            report,
        )
    table = _open(Path(path))
    wanted = {
        "tracks": (tracks, table.k),
        "cell": (cell, table.cell),
        "words": (words, table.words),
    }
    for name, (asked, has) in wanted.items():
        if asked is not None and asked != has:
            raise ParameterError(
                f"The table {path} has {name}={has}; leave '{name}' out, or build another table."
            )
    return table


def rebuild(name: str, tracks: int, cell: int, words: int, report: Report = no_progress) -> Table:
    """Open the table of a built-in universe, made anew where its encoder is another one now."""
    table = _named(name, tracks, cell, words, report)
    try:
        table.encode([""])
    except InputError:
        discard(_folder(name, tracks, cell, words))
        table = _named(name, tracks, cell, words, report)
    return table


def is_cached(name: str, tracks: int = TRACKS, cell: int = CELL, words: int = WORDS) -> bool:
    """Tell whether the table of a built-in universe is there, so that opening it takes no time."""
    return _folder(name, tracks, cell, words).is_dir()


def _named(name: str, tracks: int, cell: int, words: int, report: Report) -> Table:
    folder = _folder(name, tracks, cell, words)
    if folder.is_dir():
        try:
            return _open(folder)
        except InputError:  # torn by hand or by the disk: made anew
            discard(folder)
    made = build(name, tracks, cell, words, report=report)
    try:
        made.save(folder)
    except (OSError, InputError):  # no room, or another process was faster
        return made
    return _open(folder)


def _folder(name: str, tracks: int, cell: int, words: int) -> Path:
    """Name the folder by all that decides what is in it."""
    nouns = f"wordnet-{wordnet_folder().name}-{NOUNS}"
    source = icd10cm_folder(name).name if name in NAMES else nouns
    told = f"{BUILD} {source} {tracks} {cell} {words}"
    mark = hashlib.blake2b(told.encode(), digest_size=6).hexdigest()
    return cache_folder() / "cover" / f"{name}-{mark}"


def _open(folder: Path) -> Table:
    """Open a table once per process, as long as its folder is the same."""
    try:
        state = (folder / "meta.json").stat()
        key = (str(folder.resolve()), state.st_mtime_ns ^ state.st_ino)
    except OSError:
        return open_table(folder)  # which says what is wrong
    if key not in _opened:
        while len(_opened) >= _MAX_OPEN:
            del _opened[next(iter(_opened))]
        _opened[key] = open_table(folder)
    return _opened[key]
