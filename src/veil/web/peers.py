"""Who is at the other end of a connection, where the system tells: on Linux, over loopback.

Browsers send a cookie to every port of a machine, so that a server of another user can come by
it. There it is of no use: connections of other users are refused whatever they have.
"""

import ipaddress
import os
import sys
from pathlib import Path

from veil.web.messages import Scope

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9  # columns
_ROOT = 0  # trusted as the machine is; forwarders of the system run as root, too


def is_stranger(scope: Scope, tables: tuple[Path, ...] = _TABLES) -> bool:
    """Tell whether another user of this machine is at the other end, as far as is known.

    A socket that was given up by its owner belongs to nobody that could be told.
    """
    if sys.platform != "linux" or not scope.get("client") or not scope.get("server"):
        return False
    owner = _owner(_spelt(*scope["client"][:2]), _spelt(*scope["server"][:2]), tables)
    return owner is not None and owner not in (_ROOT, os.getuid())


def _owner(local: str, remote: str, tables: tuple[Path, ...]) -> int | None:
    """Return the user of a socket, -1 if it was given up, None if there is no such socket."""
    if not local or not remote:
        return None
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, UnicodeDecodeError):
            continue
        for columns in map(str.split, lines):
            if columns[_LOCAL : _REMOTE + 1] == [local, remote]:
                return int(columns[_UID]) if columns[_INODE] != "0" else -1
    return None


def _spelt(host: str, port: int) -> str:
    """Write an address as the tables do; nothing for one that is not on this machine.

    >>> _spelt("192.0.2.1", 80)
    ''
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ""
    mapped = getattr(address, "ipv4_mapped", None)  # a socket for both kinds of addresses
    address = mapped or address
    if not address.is_loopback:
        return ""
    packed = address.packed
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    spelt = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{spelt}:{port:04X}"
