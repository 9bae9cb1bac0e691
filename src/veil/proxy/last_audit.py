"""Where the last audit lies: a note in the user's data folder."""

import os
from pathlib import Path

from veil.core.errors import LedgerError
from veil.data.files import whole_file
from veil.proxy.folder import data_folder, private_folder, require_private

_NAME = "last-audit"
_LONGEST = 65_536  # bytes of a path


def note_audit(folder: Path) -> None:
    """Remember the folder of an audit; whoever can read the note knows no more than its place."""
    target = private_folder(data_folder()) / _NAME
    try:
        with whole_file(target, private=True) as part:
            part.write_bytes(os.fsencode(folder.resolve()))
    except OSError as error:
        raise LedgerError(f"{target} cannot be written ({error.strerror}).") from None


def noted_audit() -> Path | None:
    """Return the folder of the last audit, which may be gone since; None if none was noted."""
    target = data_folder() / _NAME
    try:
        with target.open("rb") as file:
            require_private(target, os.fstat(file.fileno()).st_mode)
            written = file.read(_LONGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LedgerError(f"{target} cannot be read ({error.strerror}).") from None
    folder = Path(os.fsdecode(written))
    if len(written) > _LONGEST or b"\0" in written or not folder.is_absolute():
        raise LedgerError(f"{target} does not name a folder; run 'veil audit' again.")
    return folder
