"""The server around the application: its socket, and that it writes no log.

A log of requests would hold the addresses that were asked for, and with them queries.
"""

import asyncio
import errno
import os
import socket
from types import FrameType

from veil.core.errors import InputError, MissingExtraError
from veil.web.messages import ASGIApp

try:
    import uvicorn
except ImportError as error:
    raise MissingExtraError("The search page needs uvicorn: pip install 'veil[web]'.") from error

_HEAD_BYTES = 256 * 1024  # an address may hold the longest query, its characters written as bytes
_CONNECTIONS = 512


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


def configured(app: ASGIApp) -> uvicorn.Server:
    """Return a server that logs nothing and tells nothing of itself."""
    return _Server(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            h11_max_incomplete_event_size=_HEAD_BYTES,
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
