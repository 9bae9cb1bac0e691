"""Frames are bounded and typed; what is not one is refused, in time and in one sentence."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.ratings.federated.messages import (
    KINDS,
    MOST,
    Absent,
    Connection,
    Keys,
    Masked,
    Message,
    Parcels,
    Request,
    Round,
    Welcome,
    decode,
    dial,
    encode,
    listen,
)
from veil.ratings.federated.primitives import ProtocolError
from veil.ratings.federated.server import ask_all

LABEL = b"round-1"
SOME: list[Message] = [
    Keys(b"a" * 32, b"b" * 32, b""),
    Parcels({3: b"x", 70_000: b""}),
    Request((1, 2), (), {1: b"s"}),
    Round(7, b"\x00" * 16),
    Welcome(2, '{"é": 1}'),
    Absent(),
]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, Connection]]:
    with listen("127.0.0.1", 0, 1) as port:
        caller = socket.create_connection(port.getsockname())
        line = Connection(port.accept()[0])
    yield caller, line
    caller.close()
    line.close()


@pytest.mark.parametrize("message", SOME, ids=lambda one: type(one).__name__)
def test_messages_come_back_as_they_were(message: Message) -> None:
    assert decode(encode(message, LABEL), LABEL) == message


def test_words_come_back_as_they_were() -> None:
    words = np.array([0, 1, 2**64 - 1], dtype=np.uint64)
    actual = decode(encode(Masked(words), LABEL), LABEL)
    assert isinstance(actual, Masked)
    assert actual.words.tolist() == words.tolist()


@pytest.mark.parametrize("message", SOME, ids=lambda one: type(one).__name__)
def test_every_cut_and_every_tail_is_refused(message: Message) -> None:
    frame = encode(message, LABEL)
    for end in range(len(frame)):
        with pytest.raises(ProtocolError):
            decode(frame[:end], LABEL)
    with pytest.raises(ProtocolError):
        decode(frame + b"\x00", LABEL)


@given(st.binary(max_size=60), st.integers(0, len(KINDS) + 1))
@settings(max_examples=200, deadline=None)
def test_garbage_raises_nothing_else(garbage: bytes, kind: int) -> None:
    frame = b"VEIL1" + bytes([kind]) + struct.pack("<I", len(LABEL)) + LABEL + garbage
    with suppress(ProtocolError):
        assert isinstance(decode(frame, LABEL), KINDS[kind])


def test_messages_of_other_rounds_and_languages_are_refused() -> None:
    with pytest.raises(ProtocolError, match="another round"):
        decode(encode(Absent(), b"round-0"), LABEL)
    with pytest.raises(ProtocolError, match="uses another protocol"):
        decode(b"GET / HTTP/1.1\r\n\r\n", LABEL)


def test_frames_above_the_limit_are_neither_sent_nor_read(
    pair: tuple[socket.socket, Connection],
) -> None:
    with pytest.raises(ProtocolError, match="64 MiB"):
        encode(Round(0, bytes(MOST)), LABEL)
    caller, line = pair
    caller.sendall(struct.pack("<I", MOST + 1))
    with pytest.raises(ProtocolError, match="64 MiB"):
        line.receive(Absent, LABEL, 30)


def test_announced_bytes_take_no_memory_before_they_come(
    pair: tuple[socket.socket, Connection],
) -> None:
    caller, line = pair
    caller.sendall(struct.pack("<I", MOST) + b"VEIL1")
    caller.close()
    with pytest.raises(ProtocolError, match="gone"):
        line.receive(Absent, LABEL, 30)


def test_stalled_and_dripping_parties_run_out_of_time(
    pair: tuple[socket.socket, Connection],
) -> None:
    caller, line = pair
    over = threading.Event()

    def drip() -> None:
        caller.sendall(struct.pack("<I", 1000))
        while not over.wait(0.02):
            try:
                caller.sendall(b"x")
            except OSError:
                return

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with pytest.raises(ProtocolError, match="in time"):
            line.receive(Absent, LABEL, 0.3)
    finally:
        over.set()
        dripping.join()


def test_messages_out_of_turn_are_refused(pair: tuple[socket.socket, Connection]) -> None:
    caller, line = pair
    Connection(caller).send(Absent(), LABEL, 5)
    with pytest.raises(ProtocolError, match="out of turn"):
        line.receive(Keys, LABEL, 30)


def test_a_line_that_was_hung_up_is_a_party_that_left(
    pair: tuple[socket.socket, Connection],
) -> None:
    pair[1].close()
    with pytest.raises(ProtocolError, match="gone"):
        pair[1].send(Absent(), b"r", 1.0)
    with pytest.raises(ProtocolError, match="gone"):
        pair[1].receive(Absent, b"r", 1.0)


def test_nobody_at_a_port_is_told() -> None:
    with listen("127.0.0.1", 0, 1) as port:
        number = port.getsockname()[1]
    with pytest.raises(ProtocolError, match="No server answers"):
        dial("127.0.0.1", number, 5)


def test_one_who_stalls_does_not_hold_up_the_others() -> None:
    with listen("127.0.0.1", 0, 3) as port:
        callers = [Connection(socket.create_connection(port.getsockname())) for _ in range(3)]
        lines = {number: Connection(port.accept()[0]) for number in range(3)}
    for number in (0, 2):
        callers[number].send(Absent(), LABEL, 5)
    start = time.monotonic()
    answers = ask_all(lines, lambda _, line: line.receive(Absent, LABEL, 1.0))
    assert len(answers) == 2
    assert time.monotonic() - start < 60
    for line in [*callers, *lines.values()]:
        line.close()
