"""The web server: its socket, its timeouts, and no log.

Connections of other users of this machine are closed when they are accepted (`Listener`), before
anything is set up for them. Few connections are accepted in one turn of the event loop: a flood
neither takes the time of other users nor more descriptors than available.

A connection without an active request (just opened, with half a head, or kept alive) must send a
complete head within some seconds of its first byte. It does not count as a concurrent request.
Their number is limited; beyond the limit, the oldest is closed.

There is no access log, because it would contain addresses, and with them queries.
"""

import asyncio
import errno
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from typing_extensions import override

from veil.core.errors import InputError, MissingExtraError
from veil.web.guard import HEAD_BYTES, KEPT, STRANGER
from veil.web.messages import ASGIApp
from veil.web.peers import can_ask, other_users

try:
    import uvicorn
    from uvicorn.protocols.http.flow_control import service_unavailable
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise MissingExtraError("The search page needs uvicorn: pip install 'veil[web]'.") from error


_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\n\r\nThe head of the request is too long.\n"
)


_STRANGER = STRANGER.encode()
_REFUSED = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store"
    b"\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n" % (len(_STRANGER) + 1, _STRANGER)
)


class Listener(socket.socket):
    """A listening socket that accepts few connections at a time and rejects other users.

    The event loop accepts until no connection waits, before it does anything else. So `accept`
    reports that none waits after `_BATCH` connections; the others are accepted in the next turn.

    Attributes
    ----------
    closed_to_others
        Whether connections of other users of this machine are rejected here. If a proxy of
        another user may be in front, the application decides by the requested name.
    others
        Descriptors of accepted connections that belong to other users.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - forwarded
        super().__init__(*args, **kwargs)
        self.closed_to_others = True
        self.others: set[int] = set()
        self._accepted: deque[tuple[socket.socket, Any]] = deque()
        self._handed_out = False
        self._diag: bool | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its address, or raise `BlockingIOError`."""
        if self._accepted:
            return self._accepted.popleft()
        if not self._handed_out:
            self._take()
        self._handed_out = bool(self._accepted)
        if not self._accepted:
            raise BlockingIOError
        return self._accepted.popleft()

    def _take(self) -> None:
        """Accept a batch, and close connections of other users."""
        batch: list[tuple[socket.socket, Any]] = []
        try:
            while len(batch) < _BATCH:
                batch.append(super().accept())
        except OSError:
            if not batch:
                raise
        if self._diag is None:
            self._diag = can_ask(self)
        ends = [(address[:2], sock.getsockname()[:2]) for sock, address in batch]
        for (sock, address), other in zip(batch, other_users(ends, diag=self._diag), strict=True):
            self.others.discard(sock.fileno())
            if other and self.closed_to_others:
                _refuse(sock)
                continue
            if other:
                self.others.add(sock.fileno())
            self._accepted.append((sock, address))


def _refuse(sock: socket.socket) -> None:
    """Send the reason, if that does not block, and close."""
    with sock, suppress(OSError):
        sock.setblocking(False)
        sock.send(_REFUSED)


class WaitingRoom:
    """Idle connections; when there are too many, the oldest is closed.

    Connections of other users are closed first.
    """

    def __init__(self, places: int, at_once: int, seconds: float) -> None:
        self.at_once, self.seconds = at_once, seconds
        self.listener: Listener | None = None
        self._places = places
        self._others: dict[H11Protocol, None] = {}
        self._waiting: dict[H11Protocol, None] = {}

    def enter(self, connection: H11Protocol) -> None:
        """Add an idle connection."""
        (self._others if connection.app_state.get(KEPT) else self._waiting)[connection] = None
        if len(self._others) + len(self._waiting) > self._places:
            oldest = next(iter(self._others or self._waiting))
            self.leave(oldest)
            oldest.transport.abort()

    def leave(self, connection: H11Protocol) -> None:
        """Remove a connection."""
        self._others.pop(connection, None)
        self._waiting.pop(connection, None)

    def is_other_user(self, connection: H11Protocol) -> bool:
        """Return whether a connection belongs to another user of this machine."""
        if self.listener is None:
            return other_users([(connection.client, connection.server)])[0]
        return connection.transport.get_extra_info("socket").fileno() in self.listener.others


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with a timeout for request heads."""

    def __init__(self, *args: Any, room: WaitingRoom, **kwargs: Any) -> None:  # noqa: ANN401 - forwarded
        super().__init__(*args, **kwargs)
        self._room = room
        self._deadline: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, KEPT: self._room.is_other_user(self)}
        self._begin()
        self._room.enter(self)

    @override
    def data_received(self, data: bytes) -> None:
        if self._is_idle():
            self._begin()
        super().data_received(data)

    @override
    def handle_events(self) -> None:
        full = len(self.tasks) >= self._room.at_once
        self.app = service_unavailable if full else self.config.loaded_app
        super().handle_events()
        if not self._is_idle():
            self._end()
            self._room.leave(self)

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_idle() and not self.transport.is_closing():
            self._room.enter(self)

    @override
    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._begin()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        self._room.leave(self)
        super().connection_lost(exc)

    @override
    def send_400_response(self, msg: str) -> None:
        if len(self.conn.trailing_data[0]) > (self.config.h11_max_incomplete_event_size or 0):
            self.transport.write(_TOO_LONG)
            self.transport.close()
        else:
            super().send_400_response(msg)
        self._begin()  # do not wait forever for the client to read it

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _begin(self) -> None:
        if self._deadline is None:
            abort: Callable[[], None] = self.transport.abort
            self._deadline = self.loop.call_later(self._room.seconds, abort)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


_AT_ONCE = 512  # requests
_WAITING = 192  # idle connections
_BATCH = 16  # connections accepted in one turn; closing an evicted one takes four turns
# At most AT_ONCE + WAITING + 4 BATCH = 768 descriptors, which fit into 1,024 open files.
_SECONDS = 10.0  # timeout of a head


def bind(host: str, port: int) -> Listener:
    """Return a socket bound to a port, any free one for 0; raise an error if that fails."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = Listener(family, kind, number)
    except (OSError, UnicodeError):
        raise InputError("The --host must be an address of this machine. Leave it out.") from None
    try:
        if os.name == "posix":  # on Windows it would let two servers share the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(128)
    except OSError as error:
        sock.close()
        raise InputError(_unbound(error, port)) from None
    return sock


def _unbound(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use, perhaps by another 'veil serve'. Choose another --port."
    if error.errno == errno.EACCES:
        return f"Port {port} is not allowed for this user. Choose a --port above 1023."
    return f"Port {port} is not available at that --host. Choose others."


def run(app: ASGIApp, sock: socket.socket, *, proxied: bool = False) -> None:
    """Serve until interrupted; active searches are finished first.

    If `proxied`, a proxy of another user may be in front: then the application, not the socket,
    rejects connections of other users.

    A second interrupt ends the process at once, like a crash; files on disk stay intact.
    """
    if isinstance(sock, Listener):
        sock.closed_to_others = not proxied
    try:
        asyncio.run(_serve(configured(app), sock))
    except KeyboardInterrupt:
        return
    finally:
        sock.close()


def configured(
    app: ASGIApp,
    *,
    head_seconds: float = _SECONDS,
    at_once: int = _AT_ONCE,
    waiting: int = _WAITING,
) -> uvicorn.Server:
    """Return a server without logs and without a server header.

    Parameters
    ----------
    head_seconds
        Seconds for the head of a request to arrive, from its first byte or the connection.
    at_once, waiting
        Concurrent requests, beyond which others are refused, and idle connections, beyond which
        the oldest are closed.
    """
    room = WaitingRoom(waiting, at_once, head_seconds)
    return _Server(
        room,
        uvicorn.Config(
            app,
            http=partial(PatientProtocol, room=room),  # type: ignore[arg-type]  # called like the class
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=10,
        ),
    )


class _Server(uvicorn.Server):
    def __init__(self, room: WaitingRoom, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._room = room

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        selects = isinstance(asyncio.get_running_loop(), asyncio.SelectorEventLoop)
        for sock in sockets or ():
            if selects and isinstance(sock, Listener):  # other loops bypass `accept`
                self._room.listener = sock
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(130)
        super().handle_exit(sig, frame)


def _ignore(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Ignore unexpected events of the loop, whose default log may quote texts."""
    del loop, context


async def _serve(server: uvicorn.Server, sock: socket.socket) -> None:
    asyncio.get_running_loop().set_exception_handler(_ignore)
    await server.serve(sockets=[sock])
