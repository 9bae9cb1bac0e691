"""The token of this installation, which callers of the search page need.

Only its owner can read the file, so other users of the machine do not have the token, although
they can reach the same port.
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
_LEADS = "enter-"  # prefix of files that contain the token
_FRESH = 60.0  # seconds
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")  # 256 bits


def own_token(folder: Path | None = None) -> str:
    """Return the token of this installation, created at first use."""
    path = private_folder(folder or data_folder()) / FILE
    if not path.is_symlink() and not path.exists():
        _make(path)
    return _read(path)


def new_token(folder: Path | None = None) -> str:
    """Replace the token; the old one stops working once servers are restarted."""
    path = private_folder(folder or data_folder()) / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise LedgerError(f"{path} cannot be removed ({error.strerror}).") from None
    return own_token(folder)


def check_token(token: str) -> str:
    """Return a token, or reject it if it could be guessed."""
    if not isinstance(token, str) or not _FORM.fullmatch(token):
        raise ParameterError("The token of the page must come from veil.web.token.")
    return token


@contextmanager
def leading(address: str, folder: Path | None = None) -> Iterator[Path]:
    """Yield an owner-only file that redirects a browser to an address with the token."""
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
    """Remove redirect files left behind by a killed server.

    Files of the last minute are not removed, because another server may be about to use them.
    """
    now = time.time()
    for path in private_folder(folder or data_folder()).glob(f"{_LEADS}*.html"):
        with suppress(OSError):
            if abs(now - path.lstat().st_mtime) > _FRESH:
                path.unlink()


def _make(path: Path) -> None:
    """Write a token completely, readable by its owner only; an existing token is not replaced."""
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
    """Rename a file, unless the name exists."""
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
                raise LedgerError(
                    f"The token {path} must be a regular file. Remove it, and start again."
                )
            _require_own(path, state)
            token = file.read(100)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a token"
        raise LedgerError(f"The token of the page at {path} cannot be read ({reason}).") from None
    if not _FORM.fullmatch(token):
        raise LedgerError(
            f"The token of the page at {path} must be complete. Run: veil token --new."
        )
    return token


def _unlinked(name: str, flags: int) -> int:
    extra = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(name, flags | extra)


def _require_own(path: Path, state: os.stat_result) -> None:
    require_private(path, state.st_mode)
    if os.name == "posix" and state.st_uid != os.getuid():
        raise LedgerError(
            f"The token {path} must belong to you, but another user owns it. Remove it, and"
            " start again."
        )
