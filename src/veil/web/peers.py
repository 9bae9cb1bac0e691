"""Find out which user of this machine is at the other end of a connection.

Only Linux reveals it. `SOCK_DIAG` over netlink looks up a socket by its two ends, in a time
that does not depend on the number of sockets. If the kernel or a sandbox does not answer,
the tables in ``/proc/net`` are read, once for a batch of connections.

Anybody on this machine can open connections, so a lookup must not cost more than an accept.
"""

import errno
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

Address = tuple[str, int | None]  # a port, if there is one
Ends = tuple[Address | None, Address | None]  # of a connection: the client, and our own

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9  # columns
_ROOT = 0  # trusted like the machine; system forwarders run as root, too
_NOBODY = -1  # owner of an abandoned socket, whose true owner is unknown
_TRIES = 3  # a table that changes while being read may lack a line
_MAPPED = ipaddress.IPv6Address("::ffff:0:0").packed[:12]
_Owners = Mapping[tuple[str, str], set[int]]  # by both ends, as the tables write them


def is_other_user(
    client: Address | None, server: Address | None, tables: Sequence[Path] | None = None
) -> bool:
    """Return whether another user of this machine is at the other end of a connection.

    A loopback peer whose socket cannot be found counts as another user, unless the system cannot
    look it up. If `tables` are given, they are read instead of asking the kernel.
    """
    return other_users([(client, server)], tables)[0]


def other_users(
    connections: Sequence[Ends], tables: Sequence[Path] | None = None, *, diag: bool = True
) -> list[bool]:
    """Return, for each connection, whether another user of this machine is at its other end.

    Without `diag`, the tables are read once for all connections.
    """
    if sys.platform != "linux":
        return [False] * len(connections)
    owners: list[set[int] | None]
    if tables is None and diag:
        owners = [_ask(*ends) for ends in connections]
    else:
        owners = [None] * len(connections)
    if None in owners:
        read = _search(connections, _TABLES if tables is None else tables)
        owners = [new if old is None else old for old, new in zip(owners, read, strict=True)]
    return [_is_other(ends, uids) for ends, uids in zip(connections, owners, strict=True)]


def _is_other(ends: Ends, owners: set[int] | None) -> bool:
    client, server = ends
    if owners is None or not client or not server:
        return False
    return bool(owners - {_ROOT, os.getuid()}) if owners else _is_loopback(client, server)


# The kernel, by netlink

_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ERROR = 4, 20, 1, 2  # of linux/netlink.h and sock_diag.h
_HEAD = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ASK = struct.Struct("=BBBBI")  # family, protocol, extensions, padding, states
_PORTS = struct.Struct("!HH")  # of inet_diag_sockid, before two addresses of 16 bytes
_REST = struct.Struct("=III")  # interface, and a cookie, which is unknown
_ANSWER = struct.Struct("=BBBB4s16s16s12s8sIII")  # up to queues, user, inode
_ANY = 0xFFFFFFFF
_LISTENS = 10  # state


def can_ask(listener: socket.socket) -> bool:
    """Return whether the kernel finds sockets by their ends, tested with this one.

    The errors for "no such socket" and "not supported" are the same, so only a socket that
    certainly exists can distinguish them.
    """
    if sys.platform != "linux":
        return False
    with suppress(OSError, ValueError, struct.error):
        host, port = listener.getsockname()[:2]
        anywhere = "0.0.0.0" if listener.family == socket.AF_INET else "::"  # noqa: S104 - not bound
        answer = _look_up((host, port), (anywhere, 0))
        return answer is not None and answer[-1] == os.fstat(listener.fileno()).st_ino
    return False


def _ask(client: Address | None, server: Address | None) -> set[int] | None:
    """Return the owner of the client's socket; empty if it does not exist, None for no answer."""
    if not client or not server:
        return set()
    try:
        answer = _look_up(client, server)
        if answer is None and not _is_loopback(client, server):  # on loopback: another user
            replies = (_look_up(client, server, index) for index, _ in socket.if_nameindex())
            answer = next((reply for reply in replies if reply is not None), None)
    except (OSError, ValueError, struct.error):
        return None
    if answer is None:
        return set()
    user, inode = answer[-2:]
    return {user if inode else _NOBODY}


def _look_up(near: Address, far: Address, interface: int = 0) -> tuple[int, ...] | None:
    """Return the kernel's record of the socket bound to `near` and connected to `far`.

    A socket bound to an interface is only found with that interface. If no connection has
    these ends, the kernel returns the socket that listens at `near`, which is ignored.
    """
    ends = [_packed(near[0]), _packed(far[0])]
    if len({len(end) for end in ends}) != 1:
        raise ValueError  # both ends must have the same address family
    family = socket.AF_INET if len(ends[0]) == 4 else socket.AF_INET6
    body = _ASK.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY)
    body += _PORTS.pack(near[1] or 0, far[1] or 0)
    body += b"".join(end.ljust(16, b"\0") for end in ends) + _REST.pack(interface, _ANY, _ANY)
    head = _HEAD.pack(_HEAD.size + len(body), _BY_FAMILY, _REQUEST, 1, 0)
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG
    ) as kernel:
        kernel.send(head + body)
        answer = kernel.recv(4096, socket.MSG_DONTWAIT)  # available when `send` returns
    if _HEAD.unpack_from(answer)[1] == _ERROR:
        (code,) = struct.unpack_from("=i", answer, _HEAD.size)
        if code == -errno.ENOENT:
            return None
        raise OSError(-code, "")
    record = _ANSWER.unpack_from(answer, _HEAD.size)
    listens = record[1] == _LISTENS and bool(far[1])
    return None if listens else tuple(part for part in record if isinstance(part, int))


def _packed(host: str) -> bytes:
    """Return the bytes of an address without its scope, such as that of fe80::1%eth0."""
    address = ipaddress.ip_address(host.partition("%")[0])
    return (getattr(address, "ipv4_mapped", None) or address).packed


# The tables


def _search(connections: Sequence[Ends], tables: Sequence[Path]) -> list[set[int] | None]:
    """Return the owners of the clients' sockets; None for all if no table can be read."""
    ends = [_pairs(*ends) for ends in connections]
    owners: list[set[int] | None] = [None] * len(connections)
    for _ in range(_TRIES):
        read = _read(tables, {pair for pairs in ends for pair in pairs})
        if read is None:
            break
        for index, pairs in enumerate(ends):
            owners[index] = (owners[index] or set()).union(*(read.get(pair, ()) for pair in pairs))
        if all(uids or not pairs for uids, pairs in zip(owners, ends, strict=True)):
            break
    return owners


def _pairs(client: Address | None, server: Address | None) -> set[tuple[str, str]]:
    if not client or not server:
        return set()
    near, far = _spelt(*client[:2]), _spelt(*server[:2])
    return {(client_end, server_end) for client_end in near for server_end in far}


def _read(tables: Iterable[Path], wanted: set[tuple[str, str]]) -> _Owners | None:
    """Return the owners of sockets by both ends; None if no table can be read."""
    owners: dict[tuple[str, str], set[int]] = {}
    readable = False
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, UnicodeDecodeError):
            continue
        readable = True
        for line in lines:
            ends = tuple(line.split(None, _REMOTE + 1)[_LOCAL : _REMOTE + 1])
            if ends in wanted and len(columns := line.split()) > _INODE:
                pair = columns[_LOCAL], columns[_REMOTE]
                user = int(columns[_UID]) if columns[_INODE] != "0" else _NOBODY
                owners.setdefault(pair, set()).add(user)
    return owners if readable else None


def _is_loopback(*ends: Address) -> bool:
    """Return whether one of two ends, and so the other one, is local."""
    return any(address.is_loopback for end in ends for address in _addresses(end[0]))


def _addresses(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Parse an address, with mapped ones as IPv4; empty if it is not an address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return []
    return [getattr(address, "ipv4_mapped", None) or address]


def _spelt(host: str, port: int | None) -> set[str]:
    """Return all spellings of an address in the tables.

    An IPv4 address is in the IPv6 table, mapped, if the socket accepts both.

    >>> len(_spelt("127.0.0.1", 80)), len(_spelt("::1", 80)), len(_spelt("a pipe", 80))
    (2, 1, 0)
    """
    packed = {address.packed for address in _addresses(host)}
    packed |= {_MAPPED + data for data in packed if len(data) == 4}  # bytes of IPv4
    return {f"{_words(data)}:{port or 0:04X}" for data in packed}


def _words(packed: bytes) -> str:
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
