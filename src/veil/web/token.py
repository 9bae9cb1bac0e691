"""The token of this installation: who has it may use the search page, and nobody else.

It lies in a file that only its owner can read, so that other users of the machine, who reach the
same port, do not have it.
"""

import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

from veil.core.errors import LedgerError, ParameterError
from veil.proxy.folder import data_folder, private_folder, require_private

FILE = "web.token"
_BYTES = 32
_LEADS = "enter-"  # files with the token in them
_FRESH = 60.0  # seconds
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")  # 256 bits


def own_token(folder: Path | None = None) -> str:
    """Return the token of this installation; it is made the first time."""
    path = private_folder(folder or data_folder()) / FILE
    if not path.is_symlink() and not path.exists():
        _make(path)
    return _read(path)


def new_token(folder: Path | None = None) -> str:
    """Make another token; the old one lets nobody in any more once servers are started anew."""
    path = private_folder(folder or data_folder()) / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise LedgerError(f"{path} cannot be removed ({error.strerror}).") from None
    return own_token(folder)


def check_token(token: str) -> str:
    """Return a token, or refuse what could be guessed."""
    if not isinstance(token, str) or not _FORM.fullmatch(token):
        raise ParameterError("The token of the page must be one that veil.web.token makes.")
    return token


@contextmanager
def leading(address: str, folder: Path | None = None) -> Iterator[Path]:
    """Give a file, owner-only, that leads a browser to an address with the token in it."""
    own = private_folder(folder or data_folder())
    handle, name = tempfile.mkstemp(prefix=_LEADS, suffix=".html", dir=own)  # it is 0600
    try:
        page = (
            '<!doctype html>\n<meta name="referrer" content="no-referrer">\n'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
        )
        os.write(handle, page.encode())
        os.close(handle)
        yield Path(name).absolute()
    finally:
        Path(name).unlink(missing_ok=True)


def remove_left(folder: Path | None = None) -> None:
    """Remove files that led a browser here and were left by a server that was killed.

    Those of the last minute stay: another server may be about to use them.
    """
    now = time.time()
    for path in private_folder(folder or data_folder()).glob(f"{_LEADS}*.html"):
        with suppress(OSError):
            if abs(now - path.lstat().st_mtime) > _FRESH:
                path.unlink()


def _make(path: Path) -> None:
    """Write a token, whole and owner-only from the start; who was faster stays."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{FILE}.", dir=path.parent)  # it is 0600
        try:
            os.write(handle, secrets.token_urlsafe(_BYTES).encode())
            os.fsync(handle)
            with suppress(FileExistsError):
                _place(Path(name), path)
        finally:
            os.close(handle)
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise LedgerError(f"{path} cannot be written ({error.strerror}).") from None


def _place(part: Path, path: Path) -> None:
    """Give a file its name, unless there is one of that name."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):  # a file system without links
        part.rename(path)


def _read(path: Path) -> str:
    try:
        with open(path, encoding="ascii", opener=_unlinked) as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise LedgerError(f"{path} is not a file; remove it, and start again.")
            _require_own(path, state)
            token = file.read(100)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no token"
        raise LedgerError(f"The token of the page at {path} cannot be read ({reason}).") from None
    if not _FORM.fullmatch(token):
        raise LedgerError(f"The token of the page at {path} is not whole; run: veil token --new.")
    return token


def _unlinked(name: str, flags: int) -> int:
    extra = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(name, flags | extra)


def _require_own(path: Path, state: os.stat_result) -> None:
    require_private(path, state.st_mode)
    if os.name == "posix" and state.st_uid != os.getuid():
        raise LedgerError(f"{path} belongs to another user; remove it, and start again.")
