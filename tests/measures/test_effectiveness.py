"""Retrieval measures, through ir_measures."""

import builtins
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.errors import InputError, MissingExtraError
from veil.measures.effectiveness import effectiveness, pooled_recall

JUDGED = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}, "q3": {"a": 0}}
NAMES = ["q1", "q2", "q3", "q4"]


def test_the_values_by_hand() -> None:
    found = effectiveness(JUDGED, NAMES, [["x", "a", "b"], [], ["a"], ["a"]])
    gain = 2 / math.log2(3) + 1 / math.log2(4)
    ideal = 2 + 1 / math.log2(3)
    assert found["nDCG@10"][:2] == pytest.approx([gain / ideal, 0])
    assert found["recall@100"][:2] == pytest.approx([1, 0])
    for values in found.values():
        assert np.isnan(values).tolist() == [False, False, True, True]


def test_the_order_of_the_list_counts_and_its_end_too(rng: Generator) -> None:
    judged = {"q": {f"d{i:03}": 1 for i in range(5)}}
    best = [f"d{i:03}" for i in range(300)]
    assert effectiveness(judged, ["q"], [best])["nDCG@10"] == pytest.approx([1])
    turned = effectiveness(judged, ["q"], [best[::-1]])
    assert turned["nDCG@10"] == pytest.approx([0])
    assert turned["recall@100"] == pytest.approx([0])
    half = effectiveness(judged, ["q"], [best[100:199] + best[:3]])
    assert half["recall@100"] == pytest.approx([0.2])


def test_a_pool_counts_whole_whatever_its_size() -> None:
    judged = {"q1": {f"d{i}": 1 for i in range(4)}, "q2": {"z": 3}}
    pools = [{f"d{i}" for i in range(2, 5000)}, {"y"}]
    assert pooled_recall(judged, ["q1", "q2"], pools) == pytest.approx([0.5, 0])
    assert pooled_recall(judged, ["q1", "q2"], [set(), {"z"}]) == pytest.approx([0, 1])
    assert pooled_recall(judged, ["q2", "q1"], [{"z"}, set()]) == pytest.approx([1, 0])
    assert pooled_recall(judged, ["q1"], [set()]) == pytest.approx([0])
    assert len(pooled_recall(judged, [], [])) == 0


def test_bad_input_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match="4 queries and 1 lists"):
        effectiveness(JUDGED, NAMES, [["a"]])
    with pytest.raises(InputError, match="the same name"):
        effectiveness(JUDGED, ["q1", "q1"], [["a"], ["b"]])
    with pytest.raises(InputError, match="List 1 of 1 names a document twice"):
        effectiveness(JUDGED, ["q1"], [["a", "a"]])
    with pytest.raises(InputError, match="a list of document names"):
        effectiveness(JUDGED, ["q1"], ["abc"])


def test_without_the_library_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> object:
        if name == "ir_measures":
            raise ImportError(name)
        return original(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[measure\]'"):
        effectiveness(JUDGED, ["q1"], [["a"]])
