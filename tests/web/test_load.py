"""Fifty at once: every search is answered, and nothing is left behind by those that are over."""

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.search.engines.recording import RecordingServer
from tests.web.serving import WORDS, House, RecordingEngine, Running, engine_spec, serving

from veil.proxy.ledger.ledger import Ledger

CLIENTS = 50
SECONDS = 3.0
SIZE = 4


class Load:
    """Clients that search, each after the other: every third query is new, others come again."""

    def __init__(self, server: Running) -> None:
        self.server = server
        self.faults: list[str] = []
        self.variants: dict[str, set[tuple[str, ...]]] = {}
        self.searches = 0
        self._lock = threading.Lock()

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with ThreadPoolExecutor(CLIENTS) as pool:
            for one in [pool.submit(self._client, number, end) for number in range(CLIENTS)]:
                one.result(600)

    def _client(self, number: int, end: float) -> None:
        turn = 0
        while turn < 2 or time.monotonic() < end:
            with self._lock:
                self.searches += 1
                count = self.searches
            word = f"quokkapox{number}x{count}" if turn % 3 == 0 else WORDS[count % 20]
            query = f"{word} {WORDS[count % 7]}"
            self._page(query) if turn % 2 else self._program(query)
            turn += 1

    def _program(self, query: str) -> None:
        asked = {"query": query, "mechanism": "santext(epsilon=1)", "size": SIZE}
        reply = self.server.post("/api/search", asked)
        if reply.status != 200:
            self.faults.append(reply.text)
            return
        seen = json.loads(reply.body)["answers"][0]["variants"]
        with self._lock:
            same = self.variants.setdefault(" ".join(sorted(query.split())), set())
            same.add(tuple(one["text"] for one in seen))

    def _page(self, query: str) -> None:
        reply = self.server.form("/search", {"q": query, "stop": 1})
        if reply.status != 200 or "What the engine saw" not in reply.text:
            self.faults.append(reply.text)


def threads_and_files(server: Running) -> tuple[int, int]:
    process = Path(f"/proc/{server.process.pid}")
    return len(list((process / "task").iterdir())), len(list((process / "fd").iterdir()))


def _within(after: tuple[int, int], before: tuple[int, int]) -> bool:
    return after[0] <= before[0] and after[1] <= before[1]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no /proc here")
def test_fifty_at_once(tmp_path: Path) -> None:
    house, engine = House.build(tmp_path), RecordingEngine()
    options = ("--budget", "none", "--log", house.given / "log.txt", "-k", 3)
    with RecordingServer(engine) as wire, serving(house, engine_spec(wire), *options) as server:
        load = Load(server)
        load.run(0.0)  # twice each: everything is started that there will be
        before = threads_and_files(server)
        load.run(SECONDS)
        end = time.monotonic() + 30
        while not _within(after := threads_and_files(server), before) and time.monotonic() < end:
            time.sleep(0.1)  # the last connections are being closed
        assert load.faults == []
        assert load.searches > 3 * CLIENTS
        assert all(len(same) == 1 for same in load.variants.values())
        assert _within(after, before), (before, after)
        assert server.said()[-1].startswith("Gate: ")  # nothing was said of an error
    assert max(Counter(engine.texts).values()) == 1  # whoever asked, it was sent once
    with Ledger(house.data) as ledger:
        held = {text for one in ledger.releases(100_000) for text in one.variants}
    assert set(engine.texts) <= held
