"""A connection of another library, cut off when it takes too long or brings too much."""

import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from veil.search.engines.network._wire import Deadline, TooMuchError

_LOOK = 0.02  # seconds from one look at a connection to the next
_RECEIVED = 128  # place of tcpi_bytes_received in Linux's struct tcp_info


@contextmanager
def watched(number: int, seconds: float, most: int, failure: type[Exception]) -> Iterator[None]:
    """Cut a connection after some seconds or bytes: a server need not keep to any limit.

    Bytes are counted where the system tells them: on Linux, over TCP.

    Parameters
    ----------
    number
        The file descriptor of the connection.
    failure
        What the library raises when its connection is cut.

    Raises
    ------
    TimeoutError, TooMuchError
        In place of that failure.
    """
    with closing(socket.socket(fileno=socket.dup(number))) as sock:
        ended, reasons = threading.Event(), list[Exception]()
        arguments = (sock, Deadline(seconds), received(sock) + most, ended, reasons)
        thread = threading.Thread(target=_watch, args=arguments, daemon=True)
        thread.start()
        try:
            yield
        except failure:
            if reasons:
                raise reasons[0] from None
            raise
        finally:
            ended.set()
            thread.join()


def received(sock: socket.socket) -> int:
    """Return how many bytes came so far; 0 where that is not told."""
    if sys.platform != "linux":
        return 0
    try:
        told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED + 8)
        (count,) = struct.unpack_from("=Q", told, _RECEIVED)
    except (OSError, struct.error):
        return 0
    return int(count)


def _watch(
    sock: socket.socket,
    deadline: Deadline,
    most: int,
    ended: threading.Event,
    reasons: list[Exception],
) -> None:
    try:
        while received(sock) <= most:
            if ended.wait(deadline.left(_LOOK)):
                return
        reasons.append(TooMuchError())
    except TimeoutError as late:
        reasons.append(late)
    with suppress(OSError):  # it is gone already
        sock.shutdown(socket.SHUT_RDWR)
