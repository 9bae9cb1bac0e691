"""The text of a cell: the words that say most about its members."""

import numpy as np
import pytest

from veil.cover.builder import CellNames
from veil.cover.table import Table

TEXTS = ["pain of skin", "rash of skin", "pain of heart", "pain of lung", "pain of bone"]
FLAT = np.eye(len(TEXTS), dtype=np.float32)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (1, "skin"),  # 2 log(5 / 2), before rash, log 5, and pain, log(5 / 4)
        (2, "skin rash"),
        (3, "skin rash pain"),
        (9, "skin rash pain of"),  # what is everywhere says nothing
    ],
)
def test_the_most_telling_words_come_first(words: int, name: str) -> None:
    assert CellNames(TEXTS, FLAT, words).name(np.array([0, 1])) == name


def test_one_text_stands_for_itself_unless_it_is_too_long() -> None:
    assert CellNames(TEXTS, FLAT, 3).name(np.array([1])) == "rash of skin"
    assert CellNames(TEXTS, FLAT, 2).name(np.array([1])) == "rash skin"


def test_without_words_the_middle_one_does() -> None:
    near = np.array([[1, 0], [0.6, 0.8], [0, 1]], dtype=np.float32)
    assert CellNames(["a", "b", "c"], near, 0).name(np.array([0, 1, 2])) == "b"


def test_a_text_of_the_table_is_not_compared_with_others(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is spelt: an encoder may tell capitals apart."""
    monkeypatch.setattr(Table, "encode", lambda *_: pytest.fail("it was encoded"))
    spelt = [f" {text.title()}".replace(" ", "  ") for text in table.texts]
    assert [match.nearest for match in table.locate(spelt)] == list(range(len(table)))
