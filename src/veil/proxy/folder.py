"""Where personal things lie: a folder that only its owner can open."""

import os
from pathlib import Path

import platformdirs

from veil.core.errors import LedgerError


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
