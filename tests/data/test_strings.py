"""Many strings in two arrays."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.core.errors import InputError
from veil.corpus.collection import Document, Documents
from veil.data.arrays import Strings

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(TEXT))
def test_strings_come_back_as_they_were(texts: list[str]) -> None:
    many = Strings.of(texts)
    assert len(many) == len(texts)
    assert list(many) == texts
    assert [many[i] for i in range(len(texts))] == texts
    assert many[1:3] == texts[1:3]
    assert list(pickle.loads(pickle.dumps(many))) == texts  # noqa: S301 - for workers


def test_positions_are_checked() -> None:
    many = Strings.of(["a", "b"])
    assert many[-1] == "b"
    for position in (2, -3):
        with pytest.raises(IndexError):
            many[position]


def test_a_lone_surrogate_is_refused_without_being_quoted() -> None:
    with pytest.raises(InputError, match="String 2 has a lone surrogate"):
        Strings.of(["secret", "secret \ud800"])


def test_documents_must_have_different_names() -> None:
    twice = [Document("a", "", "x"), Document("a", "", "y")]
    with pytest.raises(InputError, match="Document 2 has the id of an earlier document"):
        Documents.of(twice)
    with pytest.raises(InputError, match="at least one"):
        Documents.of([])


def test_the_digest_tells_documents_apart() -> None:
    base = [Document("a", "t", "x"), Document("b", "", "y")]
    same = Documents.of(base).digest
    assert Documents.of(iter(base)).digest == same
    for other in (
        [Document("a", "t", "x"), Document("b", "y", "")],  # the same letters at other places
        [Document("a", "tx", ""), Document("b", "", "y")],
        [Document("b", "", "y"), Document("a", "t", "x")],
        [Document("a", "t", "x")],
    ):
        assert Documents.of(other).digest != same


def test_passages_are_title_and_text() -> None:
    some = Documents.of([Document("a", "Skin", "cancer "), Document("b", "", " fever")])
    assert list(some.passages) == ["Skin cancer", "fever"] == some.passages[:]
    assert some.titles[0] == "Skin"
    assert some.texts[1] == " fever"
    assert np.array_equal(some.texts.offsets, [0, 7, 13])
