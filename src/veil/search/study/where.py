"""Where something is that a study names."""

from contextlib import suppress
from pathlib import Path

from veil.core.errors import InputError
from veil.corpus.icd10cm import NAMES
from veil.text.vectors.assets import VECTORS

_NAMED = {"vectors": tuple(VECTORS), "log": ("collection",)}  # what needs no path, by key


def absolute(value: str, key: str, where: str, folder: Path) -> str:
    """Make the path of a file absolute; a name stays as it is."""
    names = _NAMED.get(key, NAMES)
    if value in names or (key != "vectors" and value.startswith("irds:")):
        return value
    with suppress(OSError, ValueError):  # no such name can be
        path = (folder / value).resolve()
        if path.exists():
            return str(path)
    known = ", ".join(names) + (", irds:ID" if key != "vectors" else "")
    raise InputError(
        f"The '{key}' of {where} is neither a name ({known}) nor a file or folder that is"
        f" there. Got {value[:80]!r} instead."
    )
