"""Who is at the other end of a connection, where the system tells: on Linux, on this machine.

Browsers send a cookie to every port of a machine, so that a server of another user can come by
it. There it is of no use: connections of other users are refused whatever they have.
"""

import ipaddress
import os
import sys
from pathlib import Path

from veil.web.messages import Scope

Address = tuple[str, int | None]  # a port, if there is one

KEPT = "veil.stranger"  # what was found when a connection was made, in the state of its requests
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9  # columns
_ROOT = 0  # trusted as the machine is; forwarders of the system run as root, too
_NOBODY = -1  # a socket that was given up by its owner, who cannot be told any more
_TRIES = 3  # a table that changes while it is read may lack a line
_MAPPED = ipaddress.IPv6Address("::ffff:0:0").packed[:12]


def is_stranger(scope: Scope) -> bool:
    """Tell whether another user of this machine is at the other end of a request."""
    kept = scope.get("state", {}).get(KEPT)
    return bool(is_other_user(scope.get("client"), scope.get("server")) if kept is None else kept)


def is_other_user(
    client: Address | None, server: Address | None, tables: tuple[Path, ...] = _TABLES
) -> bool:
    """Tell whether another user of this machine is at the other end of a connection.

    Who comes over loopback and is not found is taken for one, too, unless the system has no
    tables to be found in.
    """
    if sys.platform != "linux" or not client or not server:
        return False
    near, far = _spelt(*client[:2]), _spelt(*server[:2])
    owners: set[int] | None = None
    for _ in range(_TRIES):
        owners = _owners(near, far, tables)
        if owners is None or owners:
            break
    if owners is None:
        return False
    return bool(owners - {_ROOT, os.getuid()}) if owners else _is_loopback(client, server)


def _owners(near: set[str], far: set[str], tables: tuple[Path, ...]) -> set[int] | None:
    """Return the users of the sockets with these two ends; None if no table can be read."""
    found: set[int] = set()
    read = False
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, UnicodeDecodeError):
            continue
        read = True
        for columns in map(str.split, lines):
            if len(columns) > _INODE and columns[_LOCAL] in near and columns[_REMOTE] in far:
                found.add(int(columns[_UID]) if columns[_INODE] != "0" else _NOBODY)
    return found if read else None


def _is_loopback(*ends: Address) -> bool:
    """Tell whether one of two ends, and so the other one, is on this machine alone."""
    return any(each.is_loopback for end in ends for each in _addresses(end[0]))


def _addresses(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return an address, of the kind it is at heart; none for what is no address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return []
    return [getattr(address, "ipv4_mapped", None) or address]


def _spelt(host: str, port: int | None) -> set[str]:
    """Write an address in all ways in which it can stand in the tables.

    One of IPv4 stands in the other table, mapped, if the socket is one for both kinds.

    >>> len(_spelt("127.0.0.1", 80)), len(_spelt("::1", 80)), len(_spelt("a pipe", 80))
    (2, 1, 0)
    """
    packed = {address.packed for address in _addresses(host)}
    packed |= {_MAPPED + each for each in packed if len(each) == 4}  # bytes of IPv4
    return {f"{_words(each)}:{port or 0:04X}" for each in packed}


def _words(packed: bytes) -> str:
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
