"""The folder of personal things, which only its owner can open, and the last audit in it."""

import os
from pathlib import Path

import platformdirs

from veil.core.errors import LedgerError
from veil.data.files import whole_file


def data_folder() -> Path:
    """Return the folder for the ledger: ``$VEIL_DATA``, else the user's data folder."""
    chosen = os.environ.get("VEIL_DATA")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("veil"))


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner can open, or refuse one that others can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except OSError as error:
        raise LedgerError(f"The folder {folder} cannot be used ({error.strerror}).") from None
    require_private(folder, state.st_mode)
    return folder


def require_private(path: Path, mode: int) -> None:
    """Refuse a file or folder that others than its owner can use."""
    if os.name == "posix" and mode & 0o077:
        raise LedgerError(
            f"Others can read {path}, which is personal; run: chmod go-rwx '{path}'."
        )


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
