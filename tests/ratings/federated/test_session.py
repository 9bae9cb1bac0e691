"""Training over TCP: real processes, one of which is killed, and servers that lie."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from socket import socket
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from veil.cli import federated
from veil.core.errors import BudgetError, InputError
from veil.core.types import Floats
from veil.data.arrays import open_arrays
from veil.ratings.federated import session as sessions
from veil.ratings.federated.messages import (
    Connection,
    Finish,
    Hello,
    Message,
    Round,
    Welcome,
    dial,
    listen,
)
from veil.ratings.federated.primitives import ProtocolError, random_key, signing_public
from veil.ratings.federated.session import (
    HELLO,
    Joined,
    Limits,
    Offer,
    host,
    offer_of,
    own_key,
    read_mine,
    read_register,
)
from veil.ratings.federated.training import Profiles
from veil.ratings.recommenders.federated import COLLUDE, READERS, Federated

ITEMS = [str(number) for number in range(8)]
SPEC = "federated(factors=2, rounds=3, sample=1, noise=2, clip=1, delta=0.01)"
SECONDS = 20.0


def offer(**changes: object) -> Offer:
    text: dict[str, object] = {
        "spec": SPEC, "items": ITEMS, "scale": [1, 5], "clients": 4, "threshold": 3,
        "delta": 0.01, "label": "session", "seconds": SECONDS,
    }  # fmt: skip
    return Offer(**(text | changes))  # type: ignore[arg-type]


def profile(seed: int) -> Profiles:
    rng = np.random.default_rng(seed)
    item = np.sort(rng.choice(len(ITEMS), 5, replace=False)).astype(np.int64)
    return Profiles(item, rng.uniform(-1, 1, 5), np.zeros(1, dtype=np.int64))


@contextmanager
def running(work: threading.Thread) -> Iterator[None]:
    work.start()
    yield
    work.join(60)
    assert not work.is_alive()


Ended = tuple[Floats, int, int]  # the model, rounds taken part in, void ones


def client(port: socket, limits: Limits, seed: int, found: list[Ended]) -> None:
    line = dial("127.0.0.1", port.getsockname()[1], SECONDS)
    try:
        joined = Joined(line, limits)
        found.append((joined.train(profile(seed), lambda _: None), joined.taken, joined.void))
    finally:
        line.close()


def session(terms: Offer, limits: list[Limits]) -> tuple[Floats, int, list[Ended]]:
    actual: list[Ended] = []
    registered = limits[0].registered
    with listen("127.0.0.1", 0, 4) as port:
        threads = [
            threading.Thread(target=client, args=(port, entry, seed, actual))
            for seed, entry in enumerate(limits)
        ]
        for thread in threads:
            thread.start()
        factors, void = host(port, terms, lambda _: None, registered, SECONDS)
        for thread in threads:
            thread.join(60)
    return factors, void, actual


def test_all_end_with_the_same_model() -> None:
    factors, void, actual = session(offer(), [Limits(10.0)] * 4)
    assert void == 0
    assert len(actual) == 4
    for own, taken, empty in actual:
        assert (own == factors).all()
        assert (taken, empty) == (3, 0)


def test_registered_clients_sign(tmp_path: Path) -> None:
    keys = [random_key() for _ in range(4)]
    register = tmp_path / "register"
    register.write_text("\n".join(signing_public(entry).hex() for entry in keys))
    registered = read_register(register)
    _, void, actual = session(offer(), [Limits(10.0, entry, registered) for entry in keys])
    assert void == 0
    assert len(actual) == 4


def test_rounds_of_too_few_are_void_and_training_goes_on() -> None:
    spec = SPEC.replace("delta=0.01", "delta=0.01, max_rounds=1")
    factors, void, actual = session(offer(spec=spec), [Limits(10.0)] * 4)
    assert void == 2  # nobody takes part after the first
    assert {(taken, empty) for _, taken, empty in actual} == {(1, 0)}
    assert np.isfinite(factors).all()


def lying(messages: list[Message], words: str, error: type[Exception] = ProtocolError) -> None:
    """Let a server say what it likes, and see that a client refuses."""
    with listen("127.0.0.1", 0, 1) as port:

        def lie() -> None:
            line = Connection(port.accept()[0])
            line.receive(Hello, HELLO, SECONDS)
            for message in messages:
                line.send(message, HELLO, SECONDS)
            line.close()

        with running(threading.Thread(target=lie)):
            line = dial("127.0.0.1", port.getsockname()[1], SECONDS)
            with pytest.raises(error, match=words) as caught:
                Joined(line, Limits(10.0)).train(profile(0), lambda _: None)
            line.close()
    assert "\n" not in str(caught.value)


def test_terms_that_would_tell_too_much_are_refused() -> None:
    def welcome(**changes: object) -> list[Message]:
        return [Welcome(1, offer(**changes).text())]

    lying(welcome(spec=SPEC.replace("noise=2", "noise=0.2")), "you accept 10", BudgetError)
    lying(welcome(delta=0.5), "a delta of 0.5, and you accept 0.01", BudgetError)
    lying(welcome(spec=SPEC.replace("delta", "secure=False, delta")), "single updates")
    lying(welcome(spec="popularity"), "single updates")
    lying(welcome(spec="__import__('os')"), "invalid")
    lying(welcome(seeded=True), "seed")
    lying(welcome(threshold=1), "invalid")
    lying([Welcome(1, "[" * 10_000)], "invalid")


def test_rounds_that_are_skipped_repeated_or_garbled_are_refused() -> None:
    start = Welcome(1, offer().text())
    good = bytes(8 * 8 * 3)
    lying([start, Round(1, good)], "skips or repeats")
    lying([start, Round(0, good[:-8])], "a wrong size")
    lying([start, Round(0, b"\xff" * len(good))], "not finite")
    lying([start, Finish(0, good)], "out of turn")
    lying([start], "gone")


def test_terms_come_back_as_they_were() -> None:
    assert offer_of(offer().text()) == offer()


class Forger(Connection):
    """A server's line to a victim: it speaks in labels of the terms that the victim was told."""

    def __init__(self, line: Connection, told: Offer, true: Offer) -> None:
        super().__init__(line._socket)
        rounds = range(-1, told.recommender.rounds)
        self._labels = {told.round_label(entry): true.round_label(entry) for entry in rounds}

    def send(self, message: Message, label: bytes, seconds: float) -> None:
        super().send(message, self._labels.get(label, label), seconds)

    def receive(self, kinds: Any, label: bytes, seconds: float, *other: bytes) -> Any:  # noqa: ANN401
        return super().receive(kinds, self._labels.get(label, label), seconds, *other)


def lie_to_the_first(monkeypatch: pytest.MonkeyPatch, victim: Offer) -> None:
    """Let the real server tell client 1 other terms, and take its part as far as it can."""

    def greeted(
        port: socket, offer: Offer, registered: dict[int, bytes] | None, *_: object
    ) -> dict[int, Connection]:
        lines: dict[int, Connection] = {}
        while len(lines) < offer.clients:
            line = Connection(port.accept()[0])
            hello = line.receive(Hello, HELLO, SECONDS)
            number = sessions._number(hello, registered, lines)
            terms = victim if number == 1 else offer
            line.send(Welcome(number, terms.text()), HELLO, SECONDS)
            lines[number] = Forger(line, offer, victim) if number == 1 else line
        return lines

    monkeypatch.setattr(sessions, "_greeted", greeted)
    monkeypatch.setattr(sessions, "proved_keys", lambda keys, *_: keys)


OTHER_TERMS: dict[str, dict[str, object]] = {
    "noise": {"spec": SPEC.replace("noise=2", "noise=4")},
    "rounds": {"spec": SPEC.replace("rounds=3", "rounds=4")},
    "clip": {"spec": SPEC.replace("clip=1", "clip=0.5")},
    "sample": {"spec": SPEC.replace("sample=1", "sample=0.999999")},
    "cap": {"spec": SPEC.replace("clip=1", "clip=1, max_rounds=2")},
    "threshold": {"threshold": 2},
    "delta": {"delta": 0.001},
    "clients": {"clients": 5},
    "scale": {"scale": [1, 6]},
    "items": {"items": [*ITEMS[:-1], "another"]},
    "time": {"seconds": SECONDS + 1},
}


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize("what", OTHER_TERMS)
def test_clients_with_other_terms_are_never_summed(
    monkeypatch: pytest.MonkeyPatch, what: str, registered: bool
) -> None:
    lie_to_the_first(monkeypatch, offer(**OTHER_TERMS[what]))
    keys = [random_key() for _ in range(4)] if registered else []
    facts = {number: signing_public(key) for number, key in enumerate(keys, 1)} or None
    limits = [Limits(30.0, key, facts) for key in keys] or [Limits(30.0)] * 4
    refusals: list[str] = []

    def take_part(port: socket, own: Limits, seed: int) -> None:
        try:
            client(port, own, seed, [])
        except ProtocolError as error:
            refusals.append(str(error))

    with listen("127.0.0.1", 0, 4) as port, ExitStack() as stack:
        for seed, own in enumerate(limits):
            thread = threading.Thread(target=take_part, args=(port, own, seed))
            stack.enter_context(running(thread))
        _, void = host(port, offer(), lambda _: None, facts, SECONDS)
    assert void == 3  # no sum was opened
    reason = "not signed by its registered owner" if registered else "has other terms"
    assert len(refusals) == 4
    assert any(reason in entry for entry in refusals)


def test_equal_terms_alone_have_equal_digests() -> None:
    digests = {offer(**changes).digest for changes in OTHER_TERMS.values()}
    digests |= {offer(label="another").digest, offer(seeded=True).digest}
    assert len(digests) == len(OTHER_TERMS) + 2
    assert offer().digest not in digests
    assert offer_of(offer().text()).digest == offer().digest
    assert {field.name for field in fields(Offer)} == {
        "spec", "items", "scale", "clients", "threshold", "delta", "label", "seconds", "seeded",
    }  # fmt: skip


def test_defaults_of_the_recommender_are_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    before, old = offer().digest, Federated.model_fields["ridge"].default
    monkeypatch.setattr(Federated, "model_dump", lambda _: {"ridge": 2 * old})
    assert offer().digest != before


def test_own_ratings_are_read_and_no_value_is_told(tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("item,rating\n3,5\n1,1\n99,4\n")
    actual, residual = read_mine(mine, ITEMS, (1, 5))
    assert (actual.item.tolist(), actual.value.tolist(), residual) == ([1, 3], [-1.0, 1.0], 1)
    for text, words in (
        ("item,rating\n3,5\n3,4\n", "again"),
        ("item,rating\n3,7777\n", "within the scale"),
        ("item,rating\n3,nan\n", "within the scale"),
        ("user,item,rating\nxanthippe,3,5\nsocrates,4,5\n", "several users"),
        ("thing,stars\n3,5\n", "columns item and rating"),
    ):
        mine.write_text(text)
        with pytest.raises(InputError, match=words) as caught:
            read_mine(mine, ITEMS, (1, 5))
        assert not re.search("xanthippe|socrates|7777", str(caught.value))


def test_keys_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key = own_key(path)
    assert path.stat().st_mode & 0o077 == 0
    assert own_key(path) == key
    path.chmod(0o644)
    with pytest.raises(InputError, match="read by others"):
        own_key(path)
    path.write_text("no key")
    path.chmod(0o600)
    with pytest.raises(InputError, match="hexadecimal") as caught:
        own_key(path)
    assert "no key" not in str(caught.value)


def start(verb: str, *arguments: str) -> "subprocess.Popen[str]":
    code = f"from veil.cli.federated import {verb}; {verb}()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, PYTHONUNBUFFERED="1"),
    )


def wait_for(process: "subprocess.Popen[str]", words: str) -> re.Match[str]:
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(words, line):
            return found
    raise AssertionError("it ended before")


def test_commands_train_though_one_client_is_killed(tmp_path: Path) -> None:
    catalogue = tmp_path / "items.txt"
    catalogue.write_text("\n".join(ITEMS))
    mine = tmp_path / "mine.csv"
    mine.write_text("item,rating\n3,5\n1,1\n6,4\n")
    out = tmp_path / "model"
    server = start(
        "serve", "-m", SPEC, "--clients", "4", "--threshold", "3", "--rounds", "12", "--items",
        str(catalogue), "--scale", "1", "5", "--port", "0", "--seconds", "240", "-o", str(out),
    )  # fmt: skip
    clients = []
    try:
        port = wait_for(server, r"join at 127\.0\.0\.1:(\d+)").group(1)
        address = f"127.0.0.1:{port}"
        clients = [start("join", address, str(mine), "--epsilon", "30") for _ in range(4)]
        wait_for(clients[0], "Round 2 of 12")
        clients[0].send_signal(signal.SIGKILL)
        text = server.communicate(timeout=300)[1]
        assert server.returncode == 0, text
        for entry in clients[1:]:
            message = entry.communicate(timeout=120)[1]
            assert "Done" in message
            assert "cancel it" in " ".join(message.split())
            assert entry.returncode == 0
    finally:
        for process in [server, *clients]:
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()
    assert "3 take part" in text
    actual = open_arrays(out, "federated factors", 1)
    assert actual is not None
    arrays, facts = actual
    assert arrays["factors"].shape == (8, 3)
    assert arrays["items"].tolist() == ITEMS
    assert "dp: epsilon" in facts["against_server"]
    assert COLLUDE in facts["against_server"]
    assert READERS in facts["guarantee"]


def test_a_session_that_learnt_nothing_writes_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "items.txt").write_text("\n".join(ITEMS))
    monkeypatch.setattr("veil.ratings.federated.session.host", lambda *_: (np.zeros((8, 3)), 3))
    values = [
        "-m",
        SPEC,
        "--clients",
        "4",
        "--items",
        str(tmp_path / "items.txt"),
        "--scale",
        "1",
        "5",
    ]
    values += ["--port", "0", "-o", str(tmp_path / "model")]
    actual = CliRunner().invoke(federated.serve, values)
    assert isinstance(actual.exception, InputError)
    assert "All rounds were void" in str(actual.exception)
    assert not (tmp_path / "model").exists()


def test_a_scale_that_no_client_would_take_is_refused_before_any_calls(tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text("\n".join(ITEMS))
    values = [
        "-m",
        SPEC,
        "--clients",
        "4",
        "--items",
        str(tmp_path / "items.txt"),
        "--scale",
        "5",
        "1",
    ]
    actual = CliRunner().invoke(
        federated.serve, [*values, "--port", "0", "-o", str(tmp_path / "m")]
    )
    assert isinstance(actual.exception, InputError)
    assert "A scale must be a lowest" in str(actual.exception)
