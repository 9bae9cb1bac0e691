"""A few suspects, against counting by hand."""

import numpy as np
import pytest
from tests.search.conftest import BagEncoder

from veil.core.errors import ParameterError
from veil.testing.text import Grouped, GroupTable
from veil.text.attack import Scene, attack
from veil.text.attacks.bayes import Bayes
from veil.text.attacks.shortlist import Shortlist, _suspects_of
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings

TABLE = GroupTable()


def test_suspects_of_one_group_share_the_first_place() -> None:
    texts = tuple(f"query number {i}" for i in range(60))
    addresses = TABLE.address(texts)
    rows = tuple(TABLE.group(int(address)) for address in addresses)
    outcome = Shortlist().run(Scene(rows, texts, None, Grouped()))
    assert outcome.ranks.tolist() == [1] * 60
    assert outcome.ties is not None
    assert outcome.ties.tolist() == np.bincount(addresses)[addresses].tolist()
    assert (outcome.candidates == 60).all()


def test_it_is_bayes_with_the_texts_for_a_log(words: Embeddings, queries: list[str]) -> None:
    made = mechanism("custext(epsilon=2, k=8)")
    assert isinstance(made, WordMechanism)
    texts = tuple(queries[:20])
    rows = protect_words(texts, made, words, 3, rng=5, select="all").rows
    own = Shortlist(select="all").run(Scene(rows, texts, None, made, words))
    wide = Bayes(select="all").run(Scene(rows, texts, QueryLog.of(texts), made, words))
    assert own.ranks.tolist() == wide.ranks.tolist()
    few = Shortlist(n=4, select="all").run(Scene(rows, texts, None, made, words))
    assert (few.candidates == 4).all()
    assert (few.ranks <= own.ranks).all()
    assert few.ranks.max() <= 4


def test_suspects_beside_a_text_do_not_depend_on_the_order_of_all() -> None:
    texts = tuple(f"query number {i}" for i in range(30))
    rows = tuple(TABLE.group(int(address)) for address in TABLE.address(texts))
    result = Shortlist(n=7).run(Scene(rows, texts, None, Grouped()))
    turned = Shortlist(n=7).run(Scene(rows[::-1], texts[::-1], None, Grouped()))
    assert result.ties is not None
    assert turned.ties is not None
    assert result.ties.tolist() == turned.ties[::-1].tolist()


def test_a_text_stands_once_among_its_suspects() -> None:
    order = np.array([2, 0, 3, 1])
    assert _suspects_of(2, order, 3).tolist() == [0, 3, 2]
    assert _suspects_of(1, order, 3).tolist() == [2, 0, 1]
    assert _suspects_of(1, order, 9).tolist() == [2, 0, 3, 1]
    assert _suspects_of(1, order, 0).tolist() == order.tolist()


def test_without_a_law_the_nearest_suspect_stands_first(encoder: BagEncoder) -> None:
    texts = ("skin cancer", "bone pain", "flu", "flu")
    rows = [["skin tumor", "cancer"], ["skin", "flu"], ["flu season"], []]
    outcome = attack(rows, texts, None, "shortlist", encoder=encoder, mechanism="aea")
    assert outcome.ranks.tolist() == [1, 3, 1, 1]
    assert outcome.ties is not None
    assert outcome.ties.tolist() == [1, 1, 1, 3]  # nothing was sent: three suspects are level
    assert outcome.candidates.tolist() == [3, 3, 3, 3]


def test_it_needs_to_know_the_mechanism() -> None:
    with pytest.raises(ParameterError, match="needs the mechanism"):
        attack([["a"]], ["a"], None, "shortlist")
