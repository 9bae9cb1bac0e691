"""The sum is exact for every way of dropping out, and nothing else can be read."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.ratings import secure_sum
from veil.ratings.federated.primitives import ProtocolError

Words = NDArray[np.uint64]


def vectors(n: int, length: int = 5, seed: int = 0) -> list[Words]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 2**64, length, dtype=np.uint64) for _ in range(n)]


def plain(given: list[Words], survivors: tuple[int, ...]) -> Words:
    total = np.zeros(len(given[0]), dtype=np.uint64)
    for entry in survivors:
        total += given[entry]
    return total


PHASES = ["keys", "shares", "masked", "signed"]


@pytest.mark.parametrize("phases", list(itertools.product(PHASES, repeat=2)))
def test_sum_is_exact_whoever_drops_out_and_when(phases: tuple[str, str]) -> None:
    values = vectors(7)
    drop = dict(zip((5, 2), phases, strict=True))
    actual = secure_sum(values, threshold=5, drop=drop)
    gone = {entry for entry, phase in drop.items() if phase in ("keys", "shares")}
    assert actual.survivors == tuple(sorted(set(range(7)) - gone))
    assert (actual.total == plain(values, actual.survivors)).all()


@pytest.mark.parametrize("phase", PHASES)
def test_fewer_survivors_than_the_threshold_open_nothing(phase: str) -> None:
    with pytest.raises(ProtocolError, match="void, and nothing was opened"):
        secure_sum(vectors(7), threshold=5, drop=dict.fromkeys((0, 3, 6), phase))


def test_signed_survivors_give_the_same_sum() -> None:
    values = vectors(6)
    actual = secure_sum(values, drop={1: "masked"}, signed=True)
    assert (actual.total == plain(values, actual.survivors)).all()
    assert "lies about who dropped out" in actual.trust
    assert "only the sum if it follows the protocol" in secure_sum(values).trust


def test_negative_numbers_count_modulo_the_range() -> None:
    actual = secure_sum([np.array([-3, 5]), np.array([1, -5]), [-(2**63), 2**63 - 1]])
    assert actual.total.view(np.int64).tolist() == [2**63 - 2, 2**63 - 1]


def test_what_the_server_sees_is_uniform_and_says_nothing_of_the_input() -> None:
    zeros = [np.zeros(4000, dtype=np.uint64)] * 3
    first, second = secure_sum(zeros), secure_sum(zeros)
    for client in range(3):
        octets = np.bincount(first.seen[client].view(np.uint8), minlength=256)
        assert ((octets - 125.0) ** 2 / 125.0).sum() < 350  # chi-square of 255 degrees, p < 1e-4
        assert not (first.seen[client] == second.seen[client]).any()
    other = first.seen[0] + first.seen[1]
    assert np.count_nonzero(other) == 4000  # pair masks alone would leave a sum of the others


def test_traffic_is_the_input_and_some_hundred_bytes_for_each_peer() -> None:
    actual = secure_sum(vectors(12, 1000))
    assert actual.sent.keys() == set(range(12))
    part = (actual.sent[0] - 8000) / 11
    assert 150 < part < 300
    assert actual.bytes > sum(actual.sent.values())


def test_every_client_is_a_process_of_its_own() -> None:
    values = vectors(6, 300)
    actual = secure_sum(values, threshold=4, drop={2: "shares", 4: "masked"}, processes=True)
    assert actual.survivors == (0, 1, 3, 4, 5)
    assert (actual.total == plain(values, actual.survivors)).all()


@pytest.mark.parametrize(
    ("given", "settings", "words"),
    [
        ([[1], [2.5]], {}, "integers"),
        ([[1], [2, 3]], {}, "one length"),
        ([[], []], {}, "integers|one length"),
        ([[1]], {}, "at least two clients"),
        ([[1]] * 6, {"threshold": 3}, "from 4 to 6"),
        ([[1]] * 6, {"threshold": 4, "signed": True}, "from 5 to 6"),
        ([[1]] * 6, {"threshold": 7}, "from 4 to 6"),
        ([[1]] * 6, {"drop": {6: "shares"}}, "positions from 0 to 5"),
        ([[1]] * 6, {"drop": {1: "later"}}, "to one of"),
        ([[2**64], [1]], {}, "integers"),
    ],
)
def test_bad_input_is_one_sentence(
    given: list[list[float]], settings: dict[str, Any], words: str
) -> None:
    with pytest.raises((InputError, ParameterError), match=words):
        secure_sum(given, **settings)
