"""Put fifty searches at once to a real ``veil serve`` for a minute, and print how it bears it.

The server is the one that a user starts: with cover and the table of wordnet, re-ranking by
minilm, and the local attacker on the log of icd10cm, which is ready before the first search
counts. The engine is a
process of its own on this machine that answers every variant with ten results of its own, of a
title and 25 words each, and counts what it was sent. Half of the searches are new queries of the
log, half come again; half are of the page, half of the interface. The rate and the budget are
lifted. Memory is what the server holds, every ten seconds. The seconds of processors say what a
search takes where other programs run beside it.
"""

import argparse
import asyncio
import http.client
import json
import multiprocessing
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from benchmarks.report import Report

import veil
from veil.cover import load as load_table
from veil.text.vectors.catalogue import at_hand

RESULTS = 10
STARTS = 300.0  # seconds: the log may have to be encoded first
ADDRESS = re.compile(r"(?s)at http://127\.0\.0\.1:(\d+)/enter\?token=(\S+)  .*\nGate: ")
WORDS = "about history guide review price clinic study report county update".split()


def answer(text: str) -> bytes:
    """Return ten results, always the same for a variant, with texts of their own."""
    rng = random.Random(text)  # noqa: S311 - material, not a secret
    items = [
        {
            "url": f"https://example.org/{rng.getrandbits(32):x}",
            "title": f"{text[:60]} {rng.choice(WORDS)}",
            "content": " ".join(rng.choices([*text.split(), *WORDS], k=25)),
        }
        for _ in range(RESULTS)
    ]
    return json.dumps({"results": items}).encode()


def engine(pipe: Connection) -> None:
    """Answer as SearXNG does; tell the port, and at the end how much was asked."""
    asked = distinct = 0
    seen: set[bytes] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked, distinct
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length:")[1].split()[0])
        body = await reader.readexactly(size)
        asked += 1
        seen.add(body)
        distinct = len(seen)
        found = answer(parse_qs(body.decode())["q"][0])
        start = (
            f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(found)}"
        )
        writer.write(start.encode() + b"\r\nConnection: close\r\n\r\n" + found)
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
        pipe.send((asked, distinct))

    asyncio.run(run())


@contextmanager
def started(arguments: argparse.Namespace, port: int, log: list[str]) -> Iterator["Server"]:
    """Run the server in a data folder of its own, and wait until it listens."""
    with tempfile.TemporaryDirectory(prefix="veil-serving-") as name:
        folder = Path(name)
        (folder / "log.txt").write_text("\n".join(log) + "\n")
        (folder / "data").mkdir(mode=0o700)
        command = [sys.executable, "-c", "from veil.cli import main; main()", "serve"]
        command += ["--port", "0", "--no-browser", "--rate", "1000000", "--budget", "none"]
        command += ["--bits", "none"]
        command += ["--engine", f"searxng(url=http://127.0.0.1:{port})"]
        command += ["--encoder", arguments.encoder]
        command += [] if arguments.no_log else ["--log", str(folder / "log.txt")]
        own = {"VEIL_DATA": str(folder / "data"), "VEIL_KEYRING": "off"}
        with (folder / "err").open("wb") as err:
            process = subprocess.Popen(command, stderr=err, env={**os.environ, **own})
        try:
            yield Server(process, *_listens(process, folder / "err"), folder / "err")
            process.send_signal(signal.SIGINT)
            process.wait(60)
        finally:
            process.kill()
            process.wait()


def _listens(process: subprocess.Popen[bytes], err: Path) -> tuple[int, str]:
    """Wait until the server says where it is, and return its port and its token."""
    end = time.monotonic() + STARTS
    while time.monotonic() < end and process.poll() is None:
        if found := ADDRESS.search(err.read_text()):
            return int(found[1]), found[2]
        time.sleep(0.05)
    raise SystemExit(f"The server did not start: {err.read_text()}")


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    port: int
    token: str
    err: Path

    def state(self) -> tuple[float, int, int]:
        """Return memory in MB, threads, and open files.

        Memory is what is resident and the process's own: not the pages of files that are mapped,
        which the system drops when it needs the room.
        """
        home = Path(f"/proc/{self.process.pid}")
        found = re.search(r"RssAnon:\s+(\d+) kB", (home / "status").read_text())
        memory = int(found[1]) / 1024 if found else float("nan")
        return memory, len(list((home / "task").iterdir())), len(list((home / "fd").iterdir()))

    def worked(self) -> float:
        """Return the seconds of processors that it took up to now."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Load:
    """Clients with a connection each that search until the time is over."""

    port: int
    token: str
    queries: list[str]
    stop: int | None
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _asked: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self) -> None:
        """Search until the local attackers are ready."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        end = time.monotonic() + STARTS
        while time.monotonic() < end:
            status, body = self._search(connection, self.queries[-1], page=False)
            checked = json.loads(body).get("preflight") if status == 200 else None
            if status == 200 and not (checked or {}).get("waiting"):
                connection.close()
                return
            time.sleep(1)
        raise SystemExit("The local attackers were not ready in time.")

    def run(self, clients: int, seconds: float) -> None:
        """Search from many threads at once, each with the next query when it has an answer."""
        end = time.monotonic() + seconds
        threads = [
            threading.Thread(target=self._client, args=(number, end)) for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int, end: float) -> None:
        rng = random.Random(number)  # noqa: S311
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        while time.monotonic() < end:
            start = time.perf_counter()
            try:
                status, body = self._search(connection, self._next(rng), page=rng.random() < 0.5)
            except (OSError, http.client.HTTPException) as error:
                status, body = 0, type(error).__name__.encode()
                connection.close()
            with self._lock:
                self.seconds.append(time.perf_counter() - start)
                if status != 200:
                    self.errors.append(f"{status} {body[:200].decode(errors='replace')}")
        connection.close()

    def _next(self, rng: random.Random) -> str:
        """Return a new query, or one that was asked before."""
        with self._lock:
            if self._asked and rng.random() < 0.5:
                return self.queries[rng.randrange(self._asked)]
            self._asked += 1
            return self.queries[(self._asked - 1) % len(self.queries)]

    def _search(
        self, connection: http.client.HTTPConnection, query: str, *, page: bool
    ) -> tuple[int, bytes]:
        chosen = {} if self.stop is None else {"stop": self.stop}
        own = {"Authorization": f"Bearer {self.token}"}
        if page:
            form = "application/x-www-form-urlencoded"
            body = urlencode({"q": query, **chosen})
            connection.request("POST", "/search", body, own | {"Content-Type": form})
        else:
            body = json.dumps({"query": query, **chosen})
            own["Content-Type"] = "application/json"
            connection.request("POST", "/api/search", body, own)
        response = connection.getresponse()
        return response.status, response.read()


def watched(load: Load, server: Server, clients: int, seconds: float) -> list[str]:
    """Run the load, and note every ten seconds how large the server is."""
    rows: list[str] = []
    over = threading.Event()

    def watch() -> None:
        start = time.monotonic()
        while not over.wait(10):
            memory, threads, files = server.state()
            past = time.monotonic() - start
            rows.append(f"{past:.0f} s: {memory:.0f} MB, {threads} threads, {files} files")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    load.run(clients, seconds)
    over.set()
    watcher.join()
    return rows


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=30.0, help="seconds before measuring")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--stop", type=int, help="stop of the slider; the first one by default")
    parser.add_argument("--no-log", action="store_true", help="without local attackers")
    arguments = parser.parse_args()
    if not at_hand("glove-100d"):
        raise SystemExit("glove-100d is not in the cache: run 'veil fetch glove-100d' first.")
    load_table("wordnet")  # built now, if it is not there: the slider starts with it then
    log = list(veil.load_collection("icd10cm").log)
    queries = random.Random(5).sample(log, len(log))  # noqa: S311
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=engine, args=(theirs,), daemon=True)
    process.start()
    report = Report()
    with started(arguments, int(ours.recv()), log) as server:
        load = Load(server.port, server.token, queries, arguments.stop)
        load.wait()
        load.run(arguments.clients, arguments.warm_up)
        warm, counted = server.state(), len(load.seconds)
        start, before = time.monotonic(), server.worked()
        rows = watched(load, server, arguments.clients, arguments.seconds)
        elapsed = time.monotonic() - start  # searches that were begun come to their end
        worked = server.worked() - before
        time.sleep(1)
        end = server.state()
        said = server.err.read_text().partition("Gate: ")[2].splitlines()[1:]
    ours.send(None)
    asked, distinct = ours.recv()
    process.join(10)
    _print(report, load, counted, elapsed, rows)
    each = worked / (len(load.seconds) - counted)
    report.add("seconds of processors for a search", f"{each:.3f}")
    report.add("requests to the engine, distinct among them", f"{asked:,}, {distinct:,}")
    for name, unit, place in (("memory", " MB", 0), ("threads", "", 1), ("open files", "", 2)):
        report.add(
            f"{name} after warm-up, at the end", f"{warm[place]:.0f}{unit}, {end[place]:.0f}{unit}"
        )
    report.add("growth of the memory", f"{100 * (end[0] / warm[0] - 1):.1f} %", "a few %")
    report.add("lines on stderr", f"{len(said)}", "0")
    print(report.table())


def _print(report: Report, load: Load, counted: int, seconds: float, rows: list[str]) -> None:
    measured = sorted(load.seconds[counted:])
    rate = f"{len(measured):,}, {len(measured) / seconds:.1f}"
    report.add("searches, per second", rate, "10 a second")
    report.add("errors", f"{len(load.errors)}", "0")
    for error in sorted(set(load.errors))[:5]:
        print(f"    {error}")
    middle, late = statistics.median(measured), measured[int(0.95 * len(measured))]
    report.add("latency, median and 95 %", f"{middle:.2f} s, {late:.2f} s")
    for row in rows:
        print(f"    {row}")


if __name__ == "__main__":
    main()
