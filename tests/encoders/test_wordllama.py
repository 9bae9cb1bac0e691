"""Static vectors: the mean of the tokens' vectors, whatever the batch."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.encoders.conftest import VOCABULARY, WORDS, Pip, member, write_static

from veil.core.errors import AssetError, InputError, MissingExtraError
from veil.encoders import weights

wordllama = pytest.importorskip("veil.encoders.wordllama", reason="tokenizers is not installed")


def test_vector_is_the_mean_of_the_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_static(tmp_path).astype(np.float64)
    rng = np.random.default_rng(8)
    texts = [" ".join(rng.choice(WORDS[:14], rng.integers(1, 30))) for _ in range(50)]
    wanted = np.stack(
        [table[[VOCABULARY[w] for w in text.split()]].mean(axis=0) for text in texts]
    )
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    for step in (1, 7, 32_768):
        monkeypatch.setattr(wordllama, "_STEP", step)
        vectors = wordllama.StaticEncoder("tiny", tmp_path).encode(texts, "query")
        assert vectors.dtype == np.float32
        assert np.abs(vectors - wanted).max() < 1e-6


def test_text_without_tokens_is_an_unknown_word(tmp_path: Path) -> None:
    table = write_static(tmp_path)
    encoder = wordllama.StaticEncoder("tiny", tmp_path)
    wanted = table[0] / np.linalg.norm(table[0].astype(np.float64))
    vectors = encoder.encode(["cat", "", " \n", "\ud800", "😀 " * 9])
    assert np.abs(vectors[1] - wanted).max() < 1e-6
    assert np.abs(vectors[2] - wanted).max() < 1e-6
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_vectors_that_cancel_out_give_zeros(tmp_path: Path) -> None:
    table = write_static(tmp_path)
    table[VOCABULARY["dog"]] = -table[VOCABULARY["cat"]]
    weights.write_tensors(tmp_path / "weights.safetensors", {"embedding.weight": table})
    assert not wordllama.StaticEncoder("tiny", tmp_path).encode(["cat dog"]).any()


def test_tokens_without_vectors_are_refused(tmp_path: Path) -> None:
    table = write_static(tmp_path)
    weights.write_tensors(tmp_path / "weights.safetensors", {"embedding.weight": table[:-1]})
    with pytest.raises(InputError, match="do not match its tokens"):
        wordllama.StaticEncoder("tiny", tmp_path)


@pytest.fixture
def wheel(pip: Pip, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    write_static(tmp_path)
    data = {
        name: (tmp_path / name).read_bytes() for name in ("weights.safetensors", "tokenizer.json")
    }
    monkeypatch.setattr(
        wordllama, "_MEMBERS", tuple(member(f"a/{n}", n, d) for n, d in data.items())
    )
    pip.pack(
        {f"a/{name}": content for name, content in data.items()}, "wordllama-0.4.0.post1-x.whl"
    )
    return pip


def test_wheel_of_any_platform_with_the_pinned_members(wheel: Pip, cache: Path) -> None:
    for _ in range(2):
        assert wordllama.WordLlama().open().encode(["the cat"]).shape == (1, 4)
    assert wheel.calls == 1
    path = wordllama.wordllama_folder() / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(AssetError, match=r"copy of wordllama is damaged. .*--again wordllama"):
        wordllama.WordLlama().open()
    assert wheel.calls == 1


@pytest.mark.parametrize("files", [{"a/weights.safetensors": b"evil"}, {}])
def test_other_members_are_refused(wheel: Pip, cache: Path, files: dict[str, bytes]) -> None:
    wheel.pack(files, "wordllama-0.4.0.post1-x.whl")
    with pytest.raises(AssetError, match="does not contain the files that are pinned here"):
        wordllama.WordLlama().open()
    assert not list(cache.rglob("*.safetensors"))


def test_member_of_the_right_size_is_refused(wheel: Pip, cache: Path) -> None:
    sizes = {each.path: each.size for each in wordllama._MEMBERS}
    wheel.pack({path: bytes(size) for path, size in sizes.items()}, wheel.name)
    with pytest.raises(AssetError, match="does not contain the files that are pinned here"):
        wordllama.WordLlama().open()
    assert not list(cache.rglob("*.safetensors"))


def test_wheel_that_is_no_archive(wheel: Pip) -> None:
    wheel.wheel.write_bytes(b"no zip")
    with pytest.raises(AssetError, match="does not contain the files that are pinned here"):
        wordllama.WordLlama().open()


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.delitem(sys.modules, "veil.encoders.wordllama")
    with pytest.raises(MissingExtraError, match=r"needs tokenizers: pip install .*\[search\]'"):
        importlib.import_module("veil.encoders.wordllama")
