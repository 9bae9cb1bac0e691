"""Connections that wait for nobody too long: heads come in time, or room is made for others.

A connection on which no request is under way (it was just opened, has sent half a head, or is
kept for a next request) has so many seconds from its first byte on, and does not count among the
requests at once. There is room for so many of them; then the oldest is closed.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.h11_impl import H11Protocol

from veil.web.peers import KEPT, is_other_user

_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\n\r\nThe head of the request is too long.\n"
)


class Room:
    """Where connections wait; when it is full, the one that waits longest has to leave."""

    def __init__(self, places: int, at_once: int, seconds: float) -> None:
        self.at_once, self.seconds = at_once, seconds
        self._places = places
        self._waiting: dict[H11Protocol, None] = {}

    def enter(self, one: H11Protocol) -> None:
        """Let a connection wait."""
        self._waiting[one] = None
        if len(self._waiting) > self._places:
            oldest = next(iter(self._waiting))
            self.leave(oldest)
            oldest.transport.abort()

    def leave(self, one: H11Protocol) -> None:
        """Let it wait no more."""
        self._waiting.pop(one, None)


class Patient(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a time-out for heads."""

    def __init__(self, *given: Any, room: Room, **named: Any) -> None:  # noqa: ANN401 - handed on
        super().__init__(*given, **named)
        self._room = room
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look who it is, while the other end is surely there, and wait for a first head."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, KEPT: is_other_user(self.client, self.server)}
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
