"""The server around the application: its socket, and that it writes no log.

A log of requests would hold the addresses that were asked for, and with them queries.
"""

import asyncio
import errno
import os
import socket
from functools import partial
from types import FrameType

from veil.core.errors import InputError, MissingExtraError
from veil.web.guard import HEAD_BYTES
from veil.web.messages import ASGIApp

try:
    import uvicorn

    from veil.web.protocol import Patient, Room
except ImportError as error:
    raise MissingExtraError("The search page needs uvicorn: pip install 'veil[web]'.") from error

_AT_ONCE = 512  # requests
_WAITING = 256  # connections without a request: with the others they fit into 1,024 open files
_SECONDS = 10.0  # for a head


def bind(host: str, port: int) -> socket.socket:
    """Take a port, or say why that cannot be; 0 takes any that is free."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, number)
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


def run(app: ASGIApp, sock: socket.socket) -> None:
    """Serve until interrupted; searches under way are finished first.

    A second interrupt ends the process at once, as a crash would: what is on disk stays whole.
    """
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
    room = Room(waiting, at_once, head_seconds)
    return _Server(
        uvicorn.Config(
            app,
            http=partial(Patient, room=room),  # type: ignore[arg-type]  # called like the class
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
        )
    )


class _Server(uvicorn.Server):
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
