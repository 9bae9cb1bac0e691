"""A server in a process of its own that reports what connections cost it.

For each line on standard input it prints its processor time, the highest descriptor that a
connection had (the lowest free one is always taken, so that many were open at once), and how many
connections reached the protocol.
"""

import asyncio
import sys
import threading
import time

from tests.web.conftest import TOKEN, FakeDesk, make_plane

from veil.web.app import make_app
from veil.web.server import Listener, PatientProtocol, bind, configured


class Meter:
    """Counts the connections that the protocol sees."""

    def __init__(self) -> None:
        self.highest = self.count = 0

    def install(self) -> None:
        """Look at each connection when it is made."""
        made = PatientProtocol.connection_made

        def connection_made(protocol: PatientProtocol, transport: asyncio.Transport) -> None:
            self.highest = max(self.highest, transport.get_extra_info("socket").fileno())
            self.count += 1
            made(protocol, transport)

        PatientProtocol.connection_made = connection_made  # type: ignore[assignment, method-assign]


def _say(*values: float) -> None:
    sys.stdout.write(" ".join(map(str, values)) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until standard input ends."""
    meter, sock = Meter(), bind("127.0.0.1", 0)
    assert isinstance(sock, Listener)
    sock.closed_to_others = "proxied" not in sys.argv
    sock._diag = False if "tables" in sys.argv else None
    meter.install()
    port = sock.getsockname()[1]
    app = make_app(FakeDesk(), make_plane(), token=TOKEN, hosts=[f"127.0.0.1:{port}"])
    server = configured(app, head_seconds=600)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    _say(port)
    for _ in sys.stdin:
        _say(time.process_time(), meter.highest, meter.count)
    server.should_exit = server.force_exit = True
    thread.join(60)


if __name__ == "__main__":
    main()
