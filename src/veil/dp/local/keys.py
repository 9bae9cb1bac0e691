"""A key in a file of its own, for its owner alone."""

import sys
from pathlib import Path

from veil.core.errors import InputError
from veil.dp.local.memoise import KEY


def read_key(path: Path) -> bytes:
    """Read a key: 32 bytes, or 64 hexadecimal digits; refuse one that others can read."""
    if not path.is_file():
        raise InputError(
            f"There is no key {path}; 'openssl rand -out FILE {KEY}' makes one, to be kept secret."
        )
    if sys.platform != "win32" and path.stat().st_mode & 0o077:
        raise InputError(f"Others can read the key {path}; take that away: chmod 600.")
    with path.open("rb") as file:
        octets = file.read(4 * KEY)
    if len(octets) == KEY:
        return octets
    try:
        key = bytes.fromhex(octets.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY:
        raise InputError(f"The key {path} must be {KEY} bytes, or {2 * KEY} hexadecimal digits.")
    return key
