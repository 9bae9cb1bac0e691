"""The trust boundary of the whole server: a true query is in no byte that leaves it, no line that
it prints, no file that it writes and no answer but the page that shows it to who asked.

Every word of every query holds one stem that neither the vectors nor the log know, so that none
can be drawn by chance.
"""

import html
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from tests.reference.bag_plugin import FAULT
from tests.search.engines.misbehaviour import MISBEHAVIOUR
from tests.search.engines.recording import RecordingServer, leaks
from tests.web.conftest import Reply
from tests.web.serving import WORDS, House, RecordingEngine, Running, engine_spec, serving

import veil.web.text as mechanisms
from veil.cli import run
from veil.proxy.ledger.ledger import Ledger
from veil.text.mechanisms.words import MECHANISMS

STEM = "quokkapox"
CLEAR = "marmaladefox"  # the only word that a rule lets pass
RULES = f"""
[[rule]]
name = "addresses"
kinds = ["email"]
action = "refuse"

[[rule]]
name = "fox"
words = ["{CLEAR}"]
action = "pass"
"""
SMALL = {"mechanism": "santext(epsilon=1)", "size": 3}
_BOX = re.compile(rb'(<input type="(?:search|hidden)"(?: id="q")? name="q") value="([^"]*)"')


def secret(*numbers: int) -> str:
    """Return a query of words that nobody knows."""
    return " ".join(STEM + WORDS[number] for number in numbers)


class Watched:
    """A server of which every answer, and on demand everything else, is searched for the stem."""

    def __init__(
        self, house: House, engine: RecordingEngine, wire: RecordingServer, server: Running
    ) -> None:
        self.house, self.engine, self.wire, self.server = house, engine, wire, server

    def get(self, target: str, **headers: str) -> Reply:
        return self._seen(self.server.get(target, **headers))

    def form(self, target: str, fields: dict[str, object], **headers: str) -> Reply:
        return self._seen(self.server.form(target, fields, **headers))

    def post(self, target: str, content: object) -> Reply:
        return self._seen(self.server.post(target, content))

    def ask(
        self, method: str, target: str, headers: list[tuple[str, str]], body: bytes = b""
    ) -> Reply:
        return self._seen(self.server.ask(method, target, headers, body))

    def page(self, reply: Reply, query: str, status: int = 200) -> str:
        """Check a page that shows the query in its box, and nowhere else; return its text."""
        assert reply.status == status
        shown = {html.unescape(value.decode()) for _, value in _BOX.findall(reply.body)}
        assert shown == {query}
        return reply.text

    def found(self, query: str, **more: object) -> dict[str, object]:
        """Search by the interface, and return the only answer."""
        for _ in range(20):  # a busy machine may be slower than a short time-out
            reply = self.post("/api/search", {"query": query} | more)
            if reply.status != 502:
                break
        assert reply.status == 200, reply.text
        answers = reply.json()["answers"]
        assert isinstance(answers, list)
        assert len(answers) == 1
        return dict(answers[0])

    def check(self) -> None:
        """Search all that can be seen from outside."""
        assert leaks(self.wire.blob, STEM) == []
        assert leaks(self.house.contents(), STEM) == []
        assert leaks("\n".join(self.server.said()), STEM) == []
        process = Path(f"/proc/{self.server.process.pid}")
        if process.is_dir():  # what everybody on the machine can see, and the user's programs
            shown = [process / "cmdline", process / "environ", *process.glob("task/*/comm")]
            assert leaks(b"\n".join(path.read_bytes() for path in shown), STEM) == []

    @staticmethod
    def _seen(reply: Reply) -> Reply:
        assert leaks(repr(reply.pairs), STEM) == []
        assert leaks(_BOX.sub(rb"\1", reply.body), STEM) == []
        return reply


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    made = House.build(tmp_path_factory.mktemp("canary"))
    (made.given / "rules.toml").write_text(RULES)
    return made


@pytest.fixture(scope="module")
def recorded() -> Iterator[tuple[RecordingEngine, RecordingServer]]:
    engine = RecordingEngine()
    with RecordingServer(engine) as wire:
        yield engine, wire


def started(
    house: House,
    recorded: tuple[RecordingEngine, RecordingServer],
    stack: ExitStack,
    *options: object,
    timeout: float = 20,
) -> Watched:
    engine, wire = recorded
    common = ("--log", house.given / "log.txt", "-k", 5)
    spec = engine_spec(wire, timeout=timeout)
    server = stack.enter_context(serving(house, spec, *common, *options))
    return Watched(house, engine, wire, server)


@pytest.fixture(scope="module")
def watched(house: House, recorded: tuple[RecordingEngine, RecordingServer]) -> Iterator[Watched]:
    """One server for most of what follows: with rules and local attackers."""
    with ExitStack() as stack:
        yield started(
            house, recorded, stack, "--gate", house.given / "rules.toml", "--budget", "none"
        )


def test_the_detector_finds_a_leak(watched: Watched) -> None:
    spot = watched.house.own / "tmp" / "spot"
    try:
        for leak in (secret(1), secret(1).encode("utf-16-le").decode("latin-1"), quote(secret(1))):
            spot.write_text(leak)
            with pytest.raises(AssertionError):
                watched.check()
    finally:
        spot.unlink()
    for reply in (
        Reply(200, [("x", STEM)], b""),
        Reply(200, [], b"<p>" + STEM.encode() + b"</p>"),
    ):
        with pytest.raises(AssertionError):
            watched._seen(reply)
    watched.check()


def test_searches_of_the_page(watched: Watched) -> None:
    last = len(json.loads(watched.get("/api/plane").body)["stops"]) - 1
    for stop in (0, last):
        query = f"{secret(10 + stop)} {WORDS[stop]} {secret(30 + stop)}-7731"
        reply = watched.form("/search", {"q": query, "stop": stop})
        assert "What the engine saw" in watched.page(reply, query)
    odd = f'<script>"{STEM}"</script> & {STEM.upper()}’s http://{STEM}.example/?{STEM}={STEM}'
    for number, query in enumerate((secret(1, 2), odd, f"{STEM} " * 20, f"{STEM}\u0301 {STEM}ⅷ")):
        reply = watched.get(f"/search?q={quote_plus(query)}")
        watched.page(reply, query)
        assert number < len(watched.engine.texts)
    before = len(watched.engine.texts)
    other = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    watched.page(watched.get(f"/search?q={quote(secret(5))}", **other), secret(5))
    assert watched.ask("HEAD", f"/search?q={quote(secret(6))}", []).body == b""
    for place in ("/", "/plane", "/ledger", "/opensearch.xml", "/openapi.json", "/robots.txt"):
        assert watched.get(place).status == 200
    assert len(watched.engine.texts) == before
    watched.check()


def test_a_browser_is_led_to_an_address_without_the_query(watched: Watched) -> None:
    opened = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
    sent = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
    replies = {
        secret(20): watched.get(f"/search?q={quote(secret(20))}", **opened),
        secret(21): watched.form("/search", {"q": secret(21), "stop": 1}, **sent),
        f"{STEM}@{STEM}.example": watched.form(  # a refusal
            "/search", {"q": f"{STEM}@{STEM}.example"}, **sent
        ),
    }
    for query, reply in replies.items():
        assert (reply.status, reply.body) == (303, b"")
        again = watched.get(reply.headers["location"], **sent)
        watched.page(again, query, 403 if "@" in query else 200)
        assert again.headers["cache-control"] == "no-store"
    watched.check()


def test_searches_of_programs(watched: Watched) -> None:
    for number, name in enumerate(MECHANISMS.names()):
        spec = mechanisms.catalogue().root[name].example
        answer = watched.found(secret(40, 60 + number), mechanism=spec, size=2)
        assert answer["protected_words"] == 2
    assert watched.found(secret(50), stop=0, show=1)["sent"]
    batch = [secret(50, 51), secret(52), f"{WORDS[7]} {secret(53)}", secret(52)]
    reply = watched.post("/api/search", {"queries": batch, **SMALL})
    assert reply.status == 200
    assert len(watched.post("/api/protect", {"texts": batch, **SMALL}).body) > 100
    assert watched.get("/api/ledger").status == 200
    assert watched.get("/api/budget").status == 200
    watched.check()


def test_what_was_asked_before_sends_nothing_new(watched: Watched) -> None:
    words = [STEM + "alpha", WORDS[11], STEM + "beta", WORDS[12]]
    first = watched.found(" ".join(words), **SMALL)
    sent = list(watched.engine.texts)
    assert first["sent"] == len({one["text"] for one in _variants(first)})
    spellings = [" ".join(reversed(words)), " ".join(words).upper(), f"«{'; '.join(words)}?»"]
    for query in (" ".join(words), *spellings):
        again = watched.found(query, **SMALL)
        assert (again["sent"], again["spent"], again["reused"]) == (0, 0, 3)
        assert _texts(again) == _texts(first)
    smaller = watched.found(" ".join(words), mechanism=SMALL["mechanism"], size=2)
    assert _texts(smaller) == _texts(first)  # all of them are out
    assert watched.engine.texts == sent
    watched.check()


def test_a_refined_query_shares_its_draws(watched: Watched) -> None:
    words = [WORDS[12], WORDS[13], WORDS[14], STEM + "gamma"]
    first = watched.found(" ".join(words), **SMALL)
    before = len(watched.engine.texts)
    refined = watched.found(" ".join([*words, WORDS[15]]), **SMALL)
    # the new word is paid for, and the one that the vectors do not know: it is not recognised
    assert (refined["shared"], refined["spent"]) == (3, 6.0)
    assert [text.split()[:3] for text in _texts(refined)] == [
        text.split()[:3] for text in _texts(first)
    ]
    new = watched.engine.texts[before:]
    assert sorted(new) == sorted(set(_texts(refined)))
    larger = watched.found(" ".join(words), mechanism=SMALL["mechanism"], size=5)
    assert (larger["spent"], larger["reused"], _texts(larger)[:3]) == (8.0, 3, _texts(first))
    watched.check()


def _variants(answer: dict[str, object]) -> list[dict[str, object]]:
    found = answer["variants"]
    assert isinstance(found, list)
    return found


def _texts(answer: dict[str, object]) -> list[str]:
    return [str(one["text"]) for one in _variants(answer)]


def test_the_gate(watched: Watched) -> None:
    before = len(watched.wire.blob)
    refused = f"{secret(70)} {STEM}@{STEM}.example"
    text = watched.page(watched.form("/search", {"q": refused}), refused, 403)
    assert "addresses" in text
    assert watched.post("/api/search", {"query": refused, **SMALL}).refused(403, "gate")
    unasked = watched.form("/search", {"q": secret(71), "plain": 1})  # no rule lets it pass
    watched.page(unasked, secret(71), 403)
    held_back = f"{CLEAR} {secret(72)}"  # a rule covers one of two words
    assert watched.post("/api/search", {"query": held_back, "plain": True}).status == 403
    assert len(watched.wire.blob) == before
    watched.form("/search", {"q": CLEAR, "stop": 0})  # it may pass, and nobody asks for that
    watched.found(CLEAR, **SMALL)
    assert leaks(watched.wire.blob, CLEAR) == []
    assert watched.found(CLEAR, plain=True)["plain"]
    assert watched.engine.texts[-1] == CLEAR
    assert watched.engine.texts.count(CLEAR) == 1
    assert leaks(watched.house.contents(), CLEAR) == []  # nor is what went in clear written down
    watched.check()


def test_malformed_forms_and_addresses(watched: Watched) -> None:
    before = len(watched.wire.blob)
    long = STEM * 30_000
    form = "application/x-www-form-urlencoded"
    wanted = {
        422: [
            watched.form("/search", {"q": secret(1), "stop": STEM}),
            watched.form("/search", {f"{STEM}{i}": STEM for i in range(30)}),
            watched.form("/ledger/forget", {"number": STEM}),
            watched.form("/ledger/forget", {STEM: STEM}),
            watched.ask("POST", "/search", [("Content-Type", form)], f"q={STEM}%ff".encode()),
            watched.ask("POST", "/search", [("Content-Type", form)], f"q={STEM}&q=b".encode()),
            watched.get(f"/ledger?before={STEM}"),
            watched.get(f"/?stop={STEM}"),
            watched.get(f"/api/ledger?before={STEM}"),
            watched.get(f"/api/ledger?{STEM}=1"),
            watched.get(f"/api/budget?{STEM}={STEM}"),
        ],
        404: [
            watched.get(f"/{STEM}/{STEM}?{STEM}"),
            watched.get(f"/api/{STEM}"),
            watched.get(f"/static/{STEM}.css"),
            watched.get(f"/static/../{STEM}"),
            watched.form("/ledger/forget", {"number": 10**15}),
        ],
        405: [
            watched.ask("PUT", f"/search?q={STEM}", []),
            watched.ask("POST", "/ledger", [("Content-Type", form)], STEM.encode()),
            watched.ask(STEM.upper(), "/search", []),
        ],
        410: [watched.get(f"/results?page={STEM}"), watched.get(f"/results?{STEM}")],
        413: [watched.form("/search", {"q": long})],
        415: [
            watched.ask("POST", "/search", [("Content-Type", STEM)], f"q={STEM}".encode()),
            watched.ask("POST", "/api/search", [("Content-Type", form)], f"q={STEM}".encode()),
        ],
        421: [
            watched.ask("GET", f"/search?q={STEM}", [("Host", f"{STEM}.example")]),
        ],
        403: [
            watched.form("/search", {"q": STEM}, Origin=f"http://{STEM}.example"),
            watched.get(f"/search?q={STEM}", Purpose=f"prefetch {STEM}"),
        ],
    }
    for status, replies in wanted.items():
        assert [reply.status for reply in replies] == [status] * len(replies)
    too_long = watched.form("/search", {"q": STEM * 1_200})
    watched.page(too_long, STEM * 1_111 + "q", 422)  # what there is room for in the box
    headers = [(f"X-{STEM}", STEM), ("Cookie", STEM), ("Referer", f"http://{STEM}.example/")]
    assert watched.ask("GET", "/", [*headers, ("User-Agent", STEM)]).status == 200
    assert len(watched.wire.blob) == before
    watched.check()


def test_malformed_bodies_of_programs(watched: Watched) -> None:
    before = len(watched.wire.blob)
    bodies: list[object] = [
        f'{{"query": "{STEM}'.encode(),
        f'{{"query": "{STEM}", "query": "{STEM}"}}'.encode(),
        f'["{STEM}"]'.encode(),
        f'"{STEM}"'.encode(),
        f"{STEM}".encode(),
        b'{"query": "' + STEM.encode() + b'\xff"}',
        b"[" * 100_000 + STEM.encode(),
        json.dumps({"query": STEM}).encode("utf-16"),
        {"query": [STEM]},
        {"query": {STEM: STEM}},
        {"query": STEM, STEM: 1},
        {"query": STEM, "queries": [STEM]},
        {"queries": [STEM, 5]},
        {"queries": [STEM, ""]},
        {"queries": [STEM, STEM + "\ud800"]},
        {"queries": [STEM] * 101},
        {"query": STEM * 1_200},
        {"query": STEM, "size": STEM, "mechanism": "cmp(epsilon=1)"},
        {"query": STEM, "stop": STEM},
        {"query": STEM, "stop": 10**6},
        {"query": STEM, "plain": STEM},
        {"query": STEM, "mechanism": "cmp"},
        {"query": STEM, "mechanism": "cmp(epsilon=-1)"},
        {"query": STEM, "mechanism": "santext(epsilon=1)", "size": 201},
        {"query": STEM, "mechanism": f"cmp(epsilon=1, {'x' * 3000}"},
    ]
    for body in bodies:
        reply = watched.post("/api/search", body)
        assert reply.status == 422, (body, reply.text)
    assert watched.post("/api/search", {"query": STEM * 200_000}).status == 413
    others: dict[str, list[object]] = {
        "/api/explain": [
            {"mechanism": "cmp(epsilon=1)", "words": [STEM]},
            {"mechanism": "cmp(epsilon=1)", "words": [WORDS[0], STEM]},
            {"mechanism": "cmp(epsilon=1)", "words": STEM},
        ],
        "/api/protect": [
            {"mechanism": "cmp(epsilon=1)", "texts": [STEM], "unknown": STEM},
            {"mechanism": "cmp(epsilon=1)", "texts": [STEM], "policies": {"number": STEM}},
            {"mechanism": "cmp(epsilon=1)", "texts": [STEM], "select": STEM},
        ],
    }
    for place, asked in others.items():
        for body in asked:
            assert watched.post(place, body).status == 422, body
    assert len(watched.wire.blob) == before
    watched.check()


def test_the_name_of_a_setting_is_told_to_who_gave_it_and_to_nobody_else(
    watched: Watched,
) -> None:
    before = len(watched.wire.blob)
    ask = watched.server.post  # the answer names what there is not
    names = [
        STEM,
        f"{STEM}(epsilon=1)",
        f"cmp({STEM}=1)",
        f"cmp(epsilon={STEM})",
        f"{STEM} {STEM}",
    ]
    replies = [ask("/api/search", {"query": STEM, "mechanism": name}) for name in names]
    cmp = {"mechanism": "cmp(epsilon=1)", "texts": ["a"]}
    replies.append(ask("/api/protect", {**cmp, "policies": {STEM: "keep"}}))
    replies.append(ask("/api/protect", {**cmp, "select": f"pos:{STEM}"}))
    assert [reply.status for reply in replies] == [422] * 7
    assert len(watched.wire.blob) == before
    watched.check()


def test_bytes_that_are_no_request(watched: Watched) -> None:
    host = f"Host: {watched.server.host}\r\n"
    pieces = [
        f"{STEM} {STEM}\r\n\r\n",
        f"GET /search?q={STEM} HTTP/9.9\r\n{host}\r\n",
        f"GET /search?q={STEM}\xff\xfe HTTP/1.1\r\n{host}\r\n",
        f"GET / HTTP/1.1\r\n{host}{STEM}\r\n\r\n",
        f"POST /search HTTP/1.1\r\n{host}Content-Length: {STEM}\r\n\r\n{STEM}",
        f"POST /search HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n{STEM}\r\n",
        f"POST /search HTTP/1.1\r\n{host}Content-Length: 500\r\n\r\nq={STEM}",  # and goes away
        f"GET /search?q={STEM} HTTP/1.1\r\n{host}Upgrade: websocket\r\nConnection: upgrade\r\n"
        f"Sec-WebSocket-Key: {STEM}\r\n\r\n",
        f"GET /?{STEM * 60_000} HTTP/1.1\r\n{host}\r\n",
        "\x16\x03\x01" + STEM,
    ]
    for piece in pieces:
        with socket.create_connection(("127.0.0.1", watched.server.port), timeout=120) as sock:
            answer = b""
            with suppress(OSError):  # it may be closed before all of it is written or read
                sock.sendall(piece.encode("latin-1"))
                sock.shutdown(socket.SHUT_WR)
                while data := sock.recv(65536):
                    answer += data
        assert leaks(_BOX.sub(rb"\1", answer), STEM) == []
    assert watched.get("/").status == 200
    watched.check()


def test_an_error_of_our_own(watched: Watched) -> None:
    """The encoder fails with a message that quotes the query."""
    before = len(watched.server.said())
    page = watched.form("/search", {"q": f"{secret(80)} {FAULT}"})
    assert page.status == 500
    assert "internal error (RuntimeError at bag_plugin.py:" in page.text
    for body in ({"query": f"{FAULT} {STEM}"}, {"queries": [STEM, f"{FAULT} {STEM}"]}):
        told = watched.post("/api/search", body | SMALL).refused(500, "server")
        assert told.startswith("internal error (RuntimeError at bag_plugin.py:")
    notes = watched.server.said()[before:]
    assert len(notes) == 3
    assert all(note.startswith("veil: internal error (RuntimeError at ") for note in notes)
    watched.check()


def test_the_ledger_shows_nothing_of_a_query(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    watched.found(secret(90, 91), **SMALL)
    for name in ("VEIL_DATA", "VEIL_KEYRING"):
        monkeypatch.setenv(name, watched.house.environment[name])
    assert run(["ledger", "show", "--count", "1000", "--variants"]) == 0
    exported = watched.house.own / "tmp" / "all.csv"
    for output in (str(exported), str(exported.with_suffix(".jsonl")), "-"):
        assert run(["ledger", "export", output]) == 0
    printed = capfd.readouterr()
    assert len(printed.out) > 1_000
    assert leaks(printed.out + printed.err, STEM) == []
    for page in (watched.get("/ledger"), watched.get("/api/ledger?count=1000")):
        assert page.status == 200
    assert watched.form("/ledger/forget", {"number": 1}).status == 303
    watched.check()


def test_a_bad_engine_a_spent_budget_and_no_ledger(
    recorded: tuple[RecordingEngine, RecordingServer], tmp_path: Path
) -> None:
    house = House.build(tmp_path)
    with ExitStack() as stack:
        watched = started(house, recorded, stack, "--budget", 1_000, timeout=0.3)
        stack.callback(setattr, watched.engine, "fault", None)
        _change_nothing_in_the_cache(watched)
        for number, fault in enumerate(MISBEHAVIOUR):
            watched.engine.fault = MISBEHAVIOUR[fault]
            query = secret(100 + number, 130 + number)
            told = watched.post(
                "/api/search", {"query": query, "mechanism": "santext(epsilon=1)", "size": 2}
            ).refused(502, "engine")
            assert re.search("counts? as released|Nothing was sent", told)
        watched.page(watched.form("/search", {"q": secret(160), "stop": 1}), secret(160), 502)
        watched.engine.fault = None
        before = len(watched.wire.blob)
        file = house.data / "ledger.sqlite"
        away = file.rename(house.data / "away")  # by somebody else, while it is in use
        known = secret(100, 130)
        for query in (known, secret(166)):
            asked = {"query": query, "mechanism": "santext(epsilon=1)", "size": 2}
            told = watched.post("/api/search", asked).refused(500, "server")
            assert told.endswith(
                f"{file} cannot be used: it cannot be read or written, or the disk is full."
            )
        assert watched.form("/search", {"q": secret(167)}).status == 500
        assert len(watched.wire.blob) == before
        away.rename(file)
        assert watched.found(known, mechanism="santext(epsilon=1)", size=2)["spent"] == 0
        left = json.loads(watched.get("/api/budget").body)["left"]
        watched.post(
            "/api/search",
            {"query": secret(161), "mechanism": f"santext(epsilon={left!r})", "size": 1},
        )
        assert json.loads(watched.get("/api/budget").body)["left"] == 0
        before = len(watched.wire.blob)
        spent = watched.form("/search", {"q": secret(162)})
        assert "budget is spent" in watched.page(spent, secret(162), 403)
        watched.post("/api/search", {"query": secret(163), **SMALL}).refused(403, "budget")
        watched.post("/api/search", {"queries": [secret(164)] * 2}).refused(403, "budget")
        watched.post("/api/search", {"query": secret(165), "plain": True}).refused(403, "gate")
        assert len(watched.wire.blob) == before
        watched.check()


def _change_nothing_in_the_cache(watched: Watched) -> None:
    """See that what the attackers keep on disk depends on the log, not on known words asked."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        checked = watched.found(f"{WORDS[0]} {secret(92)}", **SMALL)["preflight"]
        assert isinstance(checked, dict)
        if len(checked["standings"]) == 2:  # both attackers are ready
            break
        time.sleep(0.1)
    before = _state(watched.house.own / "cache")
    assert before
    watched.found(f"{WORDS[290]} {WORDS[297]}", **SMALL)  # which the log does not have
    watched.found(f"{WORDS[297]} {secret(93)}", **SMALL)
    assert _state(watched.house.own / "cache") == before


def _state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("action", ["again", "more", "refuse"])
def test_a_bound_on_the_rank(
    house: House, recorded: tuple[RecordingEngine, RecordingServer], action: str
) -> None:
    """Half of the queries are close enough to be resampled, get more variants, or be refused."""
    with ExitStack() as stack:
        watched = started(
            house, recorded, stack, "--budget", "none", "--bound", 20, "--on-bound", action
        )
        statuses = set()
        start = len(watched.engine.texts)
        for number in range(8):
            before = list(watched.engine.texts)
            query = f"{action} {WORDS[number]} {secret(170 + number)}"
            reply = watched.post("/api/search", {"query": query, **SMALL})
            statuses.add(reply.status)
            if reply.status == 200:
                answer = json.loads(reply.body)["answers"][0]
                standings = answer["preflight"]["standings"]
                assert len(standings) == 2
                assert all(one["rank"] > 20 for one in standings)
                again = watched.found(query, mechanism=SMALL["mechanism"], size=3)
                assert again["spent"] == 0
            else:
                assert "within your limit; nothing was sent" in reply.refused(403, "risk")
                assert watched.engine.texts == before
        assert 200 in statuses
        assert _released(house) >= set(watched.engine.texts[start:])
        watched.check()


def _released(house: House) -> set[str]:
    """Return all variants that the ledger holds."""
    with Ledger(house.data) as ledger:
        return {text for entry in ledger.releases(10_000) for text in entry.variants}


def test_nobody_else_is_reached_and_nothing_else_is_written(
    watched: Watched, recorded: tuple[RecordingEngine, RecordingServer]
) -> None:
    watched.found(secret(95), **SMALL)
    own, port = str(watched.house.own), str(recorded[1].port)
    kinds = set()
    for event, *told in watched.house.audit():
        kinds.add(event)
        if event == "open":
            compiled = told[0].startswith(os.environ["VEIL_KERNELS"])
            nameless = told[0].startswith("/proc/self/fd/")  # in a folder that was opened before
            assert told[0].startswith((own, "/dev/null")) or compiled or nameless, told
        elif event == "socket.connect":
            assert told[1] == f"('127.0.0.1', {port})"
        elif event == "socket.getaddrinfo":
            assert told[0] == "127.0.0.1"
        else:
            assert event == "socket.bind"
    assert {"open", "socket.connect"} <= kinds
