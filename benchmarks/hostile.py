"""What a hostile engine costs: memory and time of one search, in a process of its own.

Run it with ``python -m benchmarks.hostile``.
"""

import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import veil
from veil.core.errors import EngineError
from veil.search.engines.network.http import Http

SIZE = 15_000_000  # bytes of an answer
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
NAMED = b'{"id":"%d","t":"a","x":"b"}'


def _list(piece: bytes, size: int = SIZE) -> bytes:
    return b"[" + b",".join([piece] * (size // (len(piece) + 1))) + b"]"


ANSWERS: dict[str, Callable[[], bytes]] = {
    "an honest answer, 100 items of 5 kB": lambda: (
        b"[" + b",".join(b'{"id":"%d","x":"%s"}' % (i, b"word " * 1000) for i in range(100)) + b"]"
    ),
    "15 MB of empty objects": lambda: _list(b"{}"),
    "4 MB of empty objects": lambda: _list(b"{}", 4_000_000),
    "15 MB of items": lambda: _list(NAMED),
    "4 MB of items": lambda: _list(NAMED, 4_000_000),
    "4 MB of lists in lists": lambda: b"[" * 4_000_000,
    "4 MB of quotes": lambda: b'["' + b'\\"' * 2_000_000,
    "4 MB of empty strings": lambda: _list(b'""', 4_000_000),
    "4 MB in one text": lambda: b'[{"id":"1","x":"' + "😀".encode() * 1_000_000 + b'"}]',
    "4 MB of digits": lambda: b"[" + b"9" * 4_000_000 + b"]",
}


def _serve(listener: socket.socket, body: bytes) -> None:
    sock, _ = listener.accept()
    with sock:
        sock.recv(65536)
        try:
            sock.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except OSError:
            return  # the client has seen enough


def _peak(*, begin: bool = False) -> int:
    """Return the most memory that was ever in use, in kB, or since it was last begun anew."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if begin:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    line = next(one for one in status.read_text("ascii").splitlines() if "VmHWM" in one)
    return int(line.split()[1])


def _ask(url: str) -> None:
    """Search once, and print what it took."""
    engine = Http(url=url + "/{query}", title="t", text="x", timeout=6, attempts=1)
    start = _peak(begin=True)
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        answers = engine.search([veil.declassify("a")], 100)
        told = f"{len(answers.items)} items"
    except EngineError as error:
        told = str(error).partition(" answered ")[2] or str(error)
    after = resource.getrusage(resource.RUSAGE_SELF)
    memory = (_peak() - start) / 1024
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{memory:6.0f} MB  {spent:6.2f} CPU s  {told}")


def main() -> None:
    """Print a line for each answer."""
    for name, make in ANSWERS.items():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=_serve, args=[listener, make()], daemon=True)
            thread.start()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            command = [sys.executable, "-m", "benchmarks.hostile", url]
            told = subprocess.run(command, capture_output=True, text=True, check=False)
            print(f"{name:38} {told.stdout.strip() or 'failed'}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _ask(sys.argv[1])
    else:
        main()
