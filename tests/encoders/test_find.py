"""One spec, one encoder, also from many threads."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.core.types import Encoder
from veil.data.fetch import Report, no_progress
from veil.encoders import ENCODERS, catalogue
from veil.encoders import encoder as shared
from veil.encoders.encoder import EncoderSpec, blocks, check_texts


class Slow(EncoderSpec):
    """Takes its time to open, and fails at first if told so."""

    name: ClassVar[str] = "slow"
    opened: ClassVar[list[object]] = []
    fails: ClassVar[list[object]] = []

    size: int = 1

    def open(self, report: Report = no_progress) -> Encoder:
        time.sleep(0.05)
        if self.fails:
            self.fails.pop()
            raise InputError("Not yet.")
        self.opened.append(threading.get_ident())
        return object()  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENCODERS._loaded, "slow", Slow)
    monkeypatch.setattr(catalogue, "_opened", {})
    Slow.opened.clear()
    Slow.fails.clear()


def test_opened_once_from_many_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(catalogue.encoder, ["slow", "slow()", "slow(size=1)", " slow "] * 4))
    assert len({id(each) for each in found}) == 1
    assert len(Slow.opened) == 1
    assert catalogue.encoder("slow(size=2)") is not found[0]
    assert len(Slow.opened) == 2


def test_failure_is_not_remembered() -> None:
    Slow.fails.append(1)
    with pytest.raises(InputError):
        catalogue.encoder("slow")
    assert catalogue.encoder("slow") is catalogue.encoder("slow")


def test_few_are_held() -> None:
    for size in range(20):
        catalogue.encoder(f"slow(size={size})")
    assert len(catalogue._opened) <= 8
    assert len(Slow.opened) == 20


def test_cache_folder_is_part_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    first = catalogue.encoder("slow")
    monkeypatch.setenv("VEIL_CACHE", "/elsewhere")
    assert catalogue.encoder("slow") is not first


def test_names() -> None:
    assert set(ENCODERS.builtin) == {"huggingface", "minilm", "wordllama"}
    with pytest.raises(UnknownNameError, match="No encoder called 'minilmm'. Did you mean"):
        catalogue.encoder("minilmm")
    for wrong in (None, 3, ["minilm"]):
        with pytest.raises(ParameterError, match="must be a string"):
            catalogue.encoder(wrong)  # type: ignore[arg-type]


def test_texts_come_in_bounded_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "_BLOCK_TEXTS", 3)
    monkeypatch.setattr(shared, "_BLOCK_CHARACTERS", 10)
    texts = ["a", "b", "c", "d", "e" * 20, "f" * 6, "g" * 6, ""]
    found = list(blocks(texts))
    assert [start for start, _ in found] == [0, 3, 4, 5, 6]
    assert [text for _, block in found for text in block] == texts
    assert all(len(block) <= 3 for _, block in found)
    assert list(blocks([])) == []


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MAX_CHARACTERS", 5)
    monkeypatch.setattr(shared, "MAX_TEXTS", 2)
    with pytest.raises(InputError, match=r"^Text 2 of 2 has more than 5 characters; split it\.$"):
        list(blocks(["a", "secret"]))
    with pytest.raises(InputError, match="at most 2 texts"):
        check_texts(["a", "b", "c"])


def test_lone_surrogates_are_replaced() -> None:
    assert list(blocks(["\ud83d\ude00 x", "\ud800y"])) == [(0, ["😀 x", "\ufffdy"])]
