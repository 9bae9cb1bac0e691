"""The user's private data folder, and the path of the last audit in it."""

import os
from pathlib import Path

import platformdirs

from veil.core.errors import LedgerError
from veil.data.files import whole_file


def data_folder() -> Path:
    """Return the folder of the ledger: ``$VEIL_DATA``, else the user's data folder."""
    folder = os.environ.get("VEIL_DATA")
    return Path(folder) if folder else Path(platformdirs.user_data_dir("veil"))


def private_folder(folder: Path) -> Path:
    """Create a folder that only its owner can open; reject one that others can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except OSError as error:
        raise LedgerError(f"The folder {folder} cannot be used ({error.strerror}).") from None
    require_private(folder, state.st_mode)
    return folder


def require_private(path: Path, mode: int) -> None:
    """Reject a file or folder that others than its owner can use."""
    if os.name == "posix" and mode & 0o077:
        raise LedgerError(
            f"The folder or file {path} must be private, but other users can access it. Run:"
            f" chmod go-rwx '{path}'."
        )


_NAME = "last-audit"
_LONGEST = 65_536  # bytes of a path


def note_audit(folder: Path) -> None:
    """Save the path of an audit's folder."""
    target = private_folder(data_folder()) / _NAME
    try:
        with whole_file(target, private=True) as part:
            part.write_bytes(os.fsencode(folder.resolve()))
    except OSError as error:
        raise LedgerError(f"{target} cannot be written ({error.strerror}).") from None


def noted_audit() -> Path | None:
    """Return the folder of the last audit, which may no longer exist; None if none was saved."""
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
        raise LedgerError(f"{target} must name a folder. Run 'veil audit' again.")
    return folder
