"""Masks are those of the written protocol, to the byte, and shares those of Shamir."""

import hashlib
import itertools
import json

import numpy as np
import pytest
from tests.ratings.federated.golden import golden_sum, needs_golden

from veil.core.errors import ParameterError
from veil.ratings.federated.primitives import (
    PRIME,
    SIZE,
    Agreement,
    ProtocolError,
    add_streams,
    combine,
    is_added,
    pair_key,
    public_of,
    share,
    weights,
)


@needs_golden
def test_keys_and_streams_are_golden() -> None:
    text = golden_sum()
    first, second = bytes.fromhex(text["private_a"]), bytes.fromhex(text["private_b"])
    assert public_of(first).hex() == text["public_a"]
    assert public_of(second).hex() == text["public_b"]
    assert Agreement(first).secret(public_of(second)).hex() == text["shared"]
    label = text["label"].encode()
    key = pair_key(Agreement(first), public_of(first), public_of(second), label)
    assert key.hex() == text["key"]
    assert key == pair_key(Agreement(second), public_of(second), public_of(first), label)
    words = np.zeros(8, dtype=np.uint64)
    add_streams(words, [key])
    assert words[:4].tolist() == json.loads(text["first_words"])
    digest = hashlib.sha256(words.astype("<u8").tobytes()).hexdigest()
    assert digest == text["sha256_of_first_64_bytes"]


def test_streams_cancel_across_blocks() -> None:
    words = np.arange(10_001, dtype=np.uint64)
    add_streams(words, [b"a" * 32, b"b" * 32], [b"c" * 32])
    assert (words != np.arange(10_001)).all()
    add_streams(words, [b"c" * 32], [b"b" * 32])
    add_streams(words, [], [b"a" * 32])
    assert (words == np.arange(10_001)).all()


def test_one_of_two_adds() -> None:
    assert is_added(b"a", b"b") is not is_added(b"b", b"a")


def test_any_threshold_of_shares_gives_the_secret_back() -> None:
    secret = bytes(range(32))
    shares = share(secret, 3, [1, 2, 3, 4, 5])
    for subset in itertools.combinations(shares, 3):
        assert combine(shares, weights(subset)) == secret


def test_fewer_shares_fit_every_secret() -> None:
    shares = share(b"\x00" * 32, 3, [1, 2, 3])
    second = {x: int.from_bytes(shares[x], "big") for x in (1, 2)}
    for secret in (0, 1, 2**255):  # a polynomial of degree 2 through both, and through the secret
        weighed = weights([1, 2, 3])
        rest = secret - weighed[1] * second[1] - weighed[2] * second[2]
        third = rest * pow(weighed[3], -1, PRIME) % PRIME
        fits = {x: value.to_bytes(SIZE, "big") for x, value in (second | {3: third}).items()}
        assert combine(fits, weighed) == secret.to_bytes(32, "big")


def test_shares_of_one_secret_differ_each_time() -> None:
    assert share(b"x" * 32, 2, [1, 2]) != share(b"x" * 32, 2, [1, 2])


def test_broken_shares_are_refused() -> None:
    shares = share(b"x" * 32, 2, [1, 2, 3])
    weighed = weights([1, 2])
    for broken in (b"", b"\xff" * SIZE, shares[3][:-1]):
        with pytest.raises(ProtocolError):
            combine(shares | {2: broken}, weighed)
    with pytest.raises(ProtocolError):
        combine(shares | {2: shares[3]}, weighed)
    with pytest.raises(ProtocolError):
        weights([1, 1])
    with pytest.raises(ParameterError):
        share(b"x" * 32, 4, [1, 2, 3])
    with pytest.raises(ParameterError):
        share(b"x" * 32, 2, [0, 1, 2])


def test_a_key_of_low_order_is_refused() -> None:
    with pytest.raises(ProtocolError, match="public key is invalid"):
        Agreement(b"\x01" * 32).secret(bytes(32))
