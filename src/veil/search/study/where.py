"""Where something is that a study names."""

from contextlib import suppress
from pathlib import Path

from veil.core.errors import InputError
from veil.corpus.icd10cm import NAMES
from veil.cover.universe import BUILT_IN
from veil.search.study.log import LOGS
from veil.search.study.tables import OWN
from veil.text.vectors.assets import VECTORS

_TABLES = (*OWN, *BUILT_IN)
_NAMED = {  # what needs no path, by key
    "vectors": tuple(VECTORS),
    "log": LOGS,
    "table": _TABLES,
    "universe": ("", *_TABLES),
}
_NO_DATASETS = ("vectors", "table", "universe")


def absolute(value: str, key: str, where: str, folder: Path) -> str:
    """Make the path of a file absolute; a name stays as it is."""
    names = _NAMED.get(key, NAMES)
    if value in names or (key not in _NO_DATASETS and value.startswith("irds:")):
        return value
    with suppress(OSError, ValueError):  # no such name can be
        path = (folder / value).resolve()
        if path.exists():
            return str(path)
    known = ", ".join((*filter(None, names), *(() if key in _NO_DATASETS else ("irds:ID",))))
    raise InputError(
        f"The '{key}' of {where} is neither a name ({known}) nor a file or folder that is"
        f" there. Got {value[:80]!r} instead."
    )
