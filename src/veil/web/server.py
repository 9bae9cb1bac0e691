"""The server around the application: its socket, its patience, and that it writes no log.

Connections of other users of this machine are closed when they are accepted (`Listener`), before
anything is set up for them, and few connections are accepted in one turn of the loop: a flood
neither takes the time of the others nor more descriptors than there is room for.

Connections that wait for nobody too long: heads come in time, or room is made for others.
A connection on which no request is under way (it was just opened, has sent half a head, or is
kept for a next request) has so many seconds from its first byte on, and does not count among the
requests at once. There is room for so many of them; then the oldest is closed.

A log of requests would hold the addresses that were asked for, and with them queries.
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
    """The socket that listens: few connections at a time, and none of other users.

    The loop accepts until nothing waits, before it does anything else. So `accept` pretends that
    nothing does after `_BATCH` connections; the others are taken in the next turn.

    Attributes
    ----------
    closed_to_others
        Whether connections of other users of this machine are refused here. Where a proxy of
        another user may be in front, the application decides, by the name that was asked for.
    others
        Descriptors of accepted connections that belong to other users.
    """

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - handed on
        super().__init__(*given, **named)
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
        """Accept a batch, and close what comes from other users."""
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
    """Say why, if that takes no time, and close."""
    with sock, suppress(OSError):
        sock.setblocking(False)
        sock.send(_REFUSED)


class WaitingRoom:
    """Where connections wait; when it is full, the one that waits longest has to leave.

    Connections of other users leave first.
    """

    def __init__(self, places: int, at_once: int, seconds: float) -> None:
        self.at_once, self.seconds = at_once, seconds
        self.listener: Listener | None = None
        self._places = places
        self._others: dict[H11Protocol, None] = {}
        self._waiting: dict[H11Protocol, None] = {}

    def enter(self, one: H11Protocol) -> None:
        """Let a connection wait."""
        (self._others if one.app_state.get(KEPT) else self._waiting)[one] = None
        if len(self._others) + len(self._waiting) > self._places:
            oldest = next(iter(self._others or self._waiting))
            self.leave(oldest)
            oldest.transport.abort()

    def leave(self, one: H11Protocol) -> None:
        """Let it wait no more."""
        self._others.pop(one, None)
        self._waiting.pop(one, None)

    def is_other_user(self, one: H11Protocol) -> bool:
        """Return whether a connection belongs to another user of this machine."""
        if self.listener is None:
            return other_users([(one.client, one.server)])[0]
        return one.transport.get_extra_info("socket").fileno() in self.listener.others


class PatientProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a time-out for heads."""

    def __init__(self, *given: Any, room: WaitingRoom, **named: Any) -> None:  # noqa: ANN401 - handed on
        super().__init__(*given, **named)
        self._room = room
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note who it is, and wait for a first head."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, KEPT: self._room.is_other_user(self)}
        self._begin()
        self._room.enter(self)

    def data_received(self, data: bytes) -> None:
        """Take what came; from its first byte on a head has to be whole in time."""
        if self._is_idle():
            self._begin()
        super().data_received(data)

    def handle_events(self) -> None:
        """Begin a request when its head is whole."""
        full = len(self.tasks) >= self._room.at_once
        self.app = service_unavailable if full else self.config.loaded_app
        super().handle_events()
        if not self._is_idle():
            self._end()
            self._room.leave(self)

    def on_response_complete(self) -> None:
        """Wait for a next head; until something of it comes, the time-out is that of uvicorn."""
        super().on_response_complete()
        if self._is_idle() and not self.transport.is_closing():
            self._room.enter(self)

    def timeout_keep_alive_handler(self) -> None:
        """Close, and do not wait for ever until what was sent is read."""
        super().timeout_keep_alive_handler()
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave."""
        self._end()
        self._room.leave(self)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or a head that is too long before it ends."""
        if len(self.conn.trailing_data[0]) > (self.config.h11_max_incomplete_event_size or 0):
            self.transport.write(_TOO_LONG)
            self.transport.close()
        else:
            super().send_400_response(msg)
        self._begin()  # and do not wait for ever until that is read

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
_WAITING = 192  # connections without a request
_BATCH = 16  # connections accepted in one turn; it takes four until an evicted one is closed
# AT_ONCE + WAITING + 4 BATCH = 768 descriptors at most, which fit into 1,024 open files
_SECONDS = 10.0  # for a head


def bind(host: str, port: int) -> Listener:
    """Take a port, or say why that cannot be; 0 takes any that is free."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = Listener(family, kind, number)
    except (OSError, UnicodeError):
        raise InputError("The --host is no address of this machine; leave it out.") from None
    try:
        if os.name == "posix":  # elsewhere it would let two servers share the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(128)
    except OSError as error:
        sock.close()
        raise InputError(_unbound(error, port)) from None
    return sock


def _unbound(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use, perhaps by another 'veil serve'; choose another --port."
    if error.errno == errno.EACCES:
        return f"Port {port} may not be used by this user; choose a --port above 1023."
    return f"Port {port} cannot be used at that --host; choose others."


def run(app: ASGIApp, sock: socket.socket, *, proxied: bool = False) -> None:
    """Serve until interrupted; searches under way are finished first.

    `proxied` says that a proxy of another user may be in front: then the application refuses
    connections of other users, and not the socket.

    A second interrupt ends the process at once, as a crash would: what is on disk stays whole.
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
    """Return a server that logs nothing and tells nothing of itself.

    Parameters
    ----------
    head_seconds
        Time for the head of a request to arrive, from its first byte or the connection on.
    at_once, waiting
        Requests at once, beyond which others are refused; and connections without a request,
        beyond which the oldest are closed.
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
            if selects and isinstance(sock, Listener):  # other loops accept by themselves
                self._room.listener = sock
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(130)
        super().handle_exit(sig, frame)


def _ignore(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Say nothing of what the loop did not expect: it would log it, with whatever it quotes."""
    del loop, context


async def _serve(server: uvicorn.Server, sock: socket.socket) -> None:
    asyncio.get_running_loop().set_exception_handler(_ignore)
    await server.serve(sockets=[sock])
