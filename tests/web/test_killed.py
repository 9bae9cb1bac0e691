"""What is left of a server that was killed: a ledger that is whole and holds all that was sent."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPException
from pathlib import Path

import pytest
from tests.search.engines.recording import RecordingServer
from tests.web.serving import WORDS, House, RecordingEngine, Running, engine_spec, serving

from veil.proxy.ledger.ledger import Ledger

SIZE = 8
QUERY = f"quokkapox {WORDS[3]} {WORDS[9]}"


@pytest.fixture
def engine() -> RecordingEngine:
    return RecordingEngine()


@pytest.fixture
def wire(engine: RecordingEngine) -> Iterator[RecordingServer]:
    with RecordingServer(engine) as server:
        yield server
        engine.open.set()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House.build(tmp_path)


def search(server: Running, query: str, size: int = SIZE) -> dict[str, object]:
    asked = {"query": query, "mechanism": "santext(epsilon=1)", "size": size}
    reply = server.post("/api/search", asked)
    assert reply.status == 200, reply.text
    return dict(json.loads(reply.body)["answers"][0])


def texts(answer: dict[str, object]) -> tuple[str, ...]:
    variants = answer["variants"]
    assert isinstance(variants, list)
    return tuple(one["text"] for one in variants)


def released(house: House) -> dict[int, tuple[str, ...]]:
    """Open the ledger as it was left, see that it is whole, and return what it holds."""
    with Ledger(house.data) as ledger:
        found = {one.number: one.variants for one in ledger.releases(100_000)}
        spent = ledger.budget().spent
    with closing(sqlite3.connect(house.data / "ledger.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        (paid,) = db.execute("SELECT TOTAL(spent) FROM releases").fetchone()
    assert spent == paid
    for file in house.data.iterdir():
        assert file.stat().st_mode & 0o077 == 0
    return found


def lose(server: Running, query: str) -> None:
    """Search, and take it that the server is gone before it has answered."""
    with pytest.raises((OSError, HTTPException)):
        search(server, query)


def test_a_search_that_is_killed_is_taken_up_with_the_same_variants(
    house: House, engine: RecordingEngine, wire: RecordingServer
) -> None:
    engine.open.clear()
    with ThreadPoolExecutor(1) as pool, serving(house, engine_spec(wire)) as server:
        lost = pool.submit(lose, server, QUERY)
        engine.wait_for(2)
        server.kill()
        lost.result(60)
    (variants,) = released(house).values()
    assert len(variants) == SIZE
    under_way = set(engine.texts)
    assert under_way < set(variants)  # some had been sent, and not all
    engine.open.set()
    engine.texts.clear()
    with serving(house, engine_spec(wire)) as server:
        again = search(server, " ".join(reversed(QUERY.upper().split())))
        assert texts(again) == variants
        assert (again["spent"], again["reused"]) == (0, SIZE)
        assert sorted(engine.texts) == sorted(set(variants))
        two_tabs(server, engine)


def two_tabs(server: Running, engine: RecordingEngine) -> None:
    """The same search at the same time, many times over: each variant is sent once."""
    for number in range(10):
        engine.texts.clear()
        query = f"{WORDS[20 + number]} quokkapox{number} {WORDS[60 + number]}"
        start = threading.Barrier(4)

        def tab(query: str = query, start: threading.Barrier = start) -> dict[str, object]:
            start.wait(60)
            return search(server, query)

        with ThreadPoolExecutor(4) as pool:
            answers = [one.result(60) for one in [pool.submit(tab) for _ in range(4)]]
        assert len({texts(answer) for answer in answers}) == 1
        assert len({answer["release"] for answer in answers}) == 1
        assert sorted(float(str(answer["spent"])) for answer in answers) == [0, 0, 0, 3 * SIZE]
        assert sum(int(str(answer["sent"])) for answer in answers) == len(engine.texts)
        assert max(Counter(engine.texts).values()) == 1
        assert set(engine.texts) <= set(texts(answers[0]))  # some may be remembered from before


def test_killed_at_any_moment(
    house: House, engine: RecordingEngine, wire: RecordingServer
) -> None:
    """Several at once search for new, known and refined queries until the server is gone."""
    rng = random.Random(20261116)
    known: dict[int, tuple[str, ...]] = {}
    asked: list[str] = []
    for life in range(3):
        with ThreadPoolExecutor(4) as pool, serving(house, engine_spec(wire)) as server:
            for query in asked[-5:]:
                search(server, query)
            until = len(engine.texts) + rng.randrange(20, 120)
            found = [pool.submit(hasty, server, 1000 * life + 100 * i) for i in range(4)]
            engine.wait_for(until)
            time.sleep(rng.uniform(0, 0.05))
            server.kill()
            asked += [query for one in found for query in one.result(60)]
        left = released(house)
        assert {number: left[number] for number in known} == known
        assert set(engine.texts) <= {text for texts in left.values() for text in texts}
        known = left
    assert len(known) > 10
    engine.texts.clear()
    with serving(house, engine_spec(wire)) as server:
        for query in asked[::10]:  # they were answered, so that all is known of them
            answer = search(server, query)
            assert answer["spent"] == 0
            assert texts(answer) == known[int(str(answer["release"]))][:SIZE]
    assert set(engine.texts) <= {text for texts in known.values() for text in texts}
    assert released(house) == known


def hasty(server: Running, start: int) -> list[str]:
    """Search as fast as it goes; return the queries that were answered."""
    done: list[str] = []
    for number in range(100):
        word = f"{WORDS[number % 290]} quokkapox{start + number - number % 3}"
        query = word + " ".join(
            ["", *WORDS[number : number + number % 3]]
        )  # each is refined twice
        try:
            search(server, query)
        except (OSError, HTTPException):
            return done
        done.append(query)
    return done


def test_two_servers_share_a_ledger_and_two_interrupts_end_one(
    house: House, engine: RecordingEngine, wire: RecordingServer
) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(serving(house, engine_spec(wire)))
        second = stack.enter_context(serving(house, engine_spec(wire)))
        with ThreadPoolExecutor(2) as pool:
            for number in range(10):
                query = f"{WORDS[30 + number]} quokkapox{number}"
                one, other = pool.map(search, (first, second), (query, query))
                assert texts(one) == texts(other)
                assert {one["spent"], other["spent"]} == {0, 2 * SIZE}
        held = {text for texts in released(house).values() for text in texts}
        assert set(engine.texts) == held
        engine.open.clear()
        engine.texts.clear()
        with ThreadPoolExecutor(1) as pool:
            lost = pool.submit(lose, first, "quokkapox")
            engine.wait_for(2)
            first.process.send_signal(signal.SIGINT)
            while first.err.read_text().count("Stopped") == 0 and _still(first):
                first.process.send_signal(signal.SIGINT)
                time.sleep(0.05)
            assert first.process.wait(60) == 130
            lost.result(60)
        engine.open.set()
        again = search(second, "quokkapox")
        assert (again["spent"], set(engine.texts)) == (0, set(texts(again)))
    released(house)


def _still(server: Running) -> bool:
    return server.process.poll() is None


UPLOAD = """
import os, signal, sys
from veil.web import places, tables

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

places.load = tables.load = kill
text = "x,y,name\\n1,2,quokkapox\\n"
if sys.argv[1] == "tables":
    tables.TablesAsk(text=text).opened()
file = places.File(text=text, format=sys.argv[1])
places.PlacesAsk(points=file).opened(file, "points")
"""


@pytest.mark.parametrize("kind", ["tables", "csv", "geojson"])
def test_what_a_page_reads_is_in_no_file_when_it_is_killed(tmp_path: Path, kind: str) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", UPLOAD, kind], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_a_server_clears_what_killed_ones_left(
    house: House, engine: RecordingEngine, wire: RecordingServer
) -> None:
    home = house.own / "tmp"
    old = time.time() - 3600
    left = ["veil-abcdefgh/points.csv", "veil-stuvwxyz/table.csv", ".veil-0123456789abcdef.part/x"]
    kept = ["veil-keepthis/thesis.txt", "other/points.csv", "veil-inuse123/points.csv"]
    for name in (*left, *kept):
        (home / name).parent.mkdir()
        (home / name).write_text("quokkapox")
        if "inuse" not in name:
            os.utime(home / name, (old, old))
            os.utime((home / name).parent, (old, old))
    with serving(house, engine_spec(wire)) as server:
        server.kill()
    there = {path.name for path in home.iterdir()}
    assert there == {name.partition("/")[0] for name in kept}
