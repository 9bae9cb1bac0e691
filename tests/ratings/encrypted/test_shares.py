"""Inner products of shares are exact, and what one party sees is uniform."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.core.errors import InputError
from veil.ratings.encrypted import TRUST, Holder, deal, inner_product, shares_of
from veil.ratings.federated.primitives import ProtocolError

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6)


@given(NUMBERS)
@settings(max_examples=50, deadline=None)
def test_products_are_exact_modulo_the_range(x: list[int]) -> None:
    y = list(reversed(x))
    assert inner_product(x, y).total == sum(a * b for a, b in zip(x, y, strict=True)) % 2**64


def test_shares_add_up_and_each_alone_is_uniform() -> None:
    first, second = shares_of(np.zeros(8000, dtype=np.int64))
    assert not (first + second).any()
    for share in (first, second):
        octets = np.bincount(share.view(np.uint8), minlength=256)
        assert ((octets - 250.0) ** 2 / 250.0).sum() < 350  # chi-square, 255 degrees, p < 1e-4


def test_nothing_that_a_party_received_repeats_an_input() -> None:
    x, y = np.arange(1000), np.arange(1000) * 7
    product = inner_product(x, y)
    assert product.seen["dealer"] == ()
    for party in ("first", "second"):
        for words in product.seen[party]:
            assert not np.isin(words, np.concatenate([x, y]).astype(np.uint64)).any()
    d_one, d_two = product.seen["second"][5], product.seen["first"][5]
    assert not np.isin(d_one + d_two, x.astype(np.uint64)).any()  # x - a, and a is uniform


def test_a_triple_serves_once() -> None:
    first, second = shares_of([1, 2, 3])
    half, other = deal(3)
    holder = Holder(first, first, first=True)
    with pytest.raises(ProtocolError, match="needs opened shares"):
        holder.product((first, first), (second, second))
    opened = holder.opened(half)
    with pytest.raises(ProtocolError, match="one product"):
        holder.opened(half)
    holder.product(opened, (second, second))
    with pytest.raises(ProtocolError, match="once"):
        holder.product(opened, (second, second))
    with pytest.raises(ProtocolError, match="its length"):
        Holder(first[:2], first[:2], first=False).opened(other)


def test_bad_vectors_are_refused() -> None:
    for wrong in ([0.5], [[1]], []):
        with pytest.raises(InputError, match="integers"):
            shares_of(wrong)
    with pytest.raises(InputError, match="one length"):
        inner_product([1], [1, 2])
    assert "collude" in TRUST
