"""The BERT graph against the papers' equations, and batches that change nothing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.conftest import HEADS, VOCABULARY, WIDTH, WORDS, tiny_weights
from tests.reference import bert as reference

from veil.core.errors import InputError
from veil.core.types import Singles

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
_bert = pytest.importorskip("veil.encoders._bert")
TEXTS = ["the cat sat on a mat", "lung cancer", "", "dogs", "x " * 25, "the heart and the skin"]
ODD = ["\ud800", "\udc00 cat \ud83d", "\x00", "😀 é 漢字", "\u202e\u200b", " \n\t", "a" * 5000]


def open_tiny(folder: Path, graph: str = "float32", max_tokens: int = 32) -> Any:  # noqa: ANN401
    return _bert.BertEncoder(
        "tiny", (folder / f"{graph}.onnx").read_bytes(), folder, max_tokens, 1
    )


def ids_of(text: str) -> list[int]:
    pieces = {"dogs": ["dog", "##s"]}
    words = [piece for word in text.split() for piece in pieces.get(word, [word])]
    return [2, *(VOCABULARY[word] for word in words), 3]


def test_graph_computes_what_the_papers_say(bert: Path) -> None:
    vectors = open_tiny(bert).encode(TEXTS)
    weights = tiny_weights()
    for text, vector in zip(TEXTS, vectors, strict=True):
        wanted = reference.encode(weights, ids_of(text), HEADS, 1e-12)
        assert np.abs(vector - wanted).max() < 2e-6


def test_rows_are_float32_of_length_one(bert: Path) -> None:
    for graph in ("float32", "int8"):
        encoder = open_tiny(bert, graph)
        vectors = encoder.encode(TEXTS)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), encoder.dim) == (len(TEXTS), WIDTH)
        assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6


@pytest.mark.parametrize("graph", ["float32", "int8"])
def test_vector_depends_on_its_text_alone(
    bert: Path, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither order, nor padding, nor the size of a batch changes a vector."""
    rng = np.random.default_rng(11)
    texts = [" ".join(rng.choice(WORDS[:14], rng.integers(0, 20))) for _ in range(60)]
    alone = np.concatenate([open_tiny(bert, graph).encode([text]) for text in texts])
    order = rng.permutation(len(texts))
    for limit in (1, 50, 100_000):
        monkeypatch.setattr(_bert, "_BATCH", limit)
        vectors = open_tiny(bert, graph).encode([texts[i] for i in order])
        assert np.abs(vectors - alone[order]).max() < 3e-6
    assert len({vector.tobytes() for vector in alone}) > 50


def test_batches_hold_every_row_once_and_are_bounded() -> None:
    lengths = [5, 900, 2, 2, 30, 1, 7]
    batches = list(_bert._batches(lengths, 60))
    assert sorted(row for batch in batches for row in batch) == list(range(7))
    for batch in batches:
        longest = max(lengths[row] for row in batch)
        assert lengths[batch[0]] == longest
        assert len(batch) == 1 or longest * len(batch) <= 60


def test_text_is_cut_after_max_tokens(bert: Path) -> None:
    short = open_tiny(bert, max_tokens=5)
    first, same, other = short.encode(["the cat sat", "the cat sat on a mat", "the cat on"])
    assert np.abs(first - same).max() < 1e-6
    assert np.abs(first - other).max() > 1e-3
    whole = open_tiny(bert).encode(["the cat sat", "the cat sat on a mat"])
    assert np.abs(whole[0] - first).max() < 1e-6
    assert np.abs(whole[1] - first).max() > 1e-3


def test_odd_texts_have_vectors(bert: Path) -> None:
    vectors = open_tiny(bert).encode([*ODD, "cat"])
    assert np.isfinite(vectors).all()
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6


def test_no_texts(bert: Path) -> None:
    assert open_tiny(bert).encode([]).shape == (0, WIDTH)


def test_what_is_no_list_of_texts(bert: Path) -> None:
    encoder = open_tiny(bert)
    for wrong in ("cat", b"cat", 3, None, {"cat"}):
        with pytest.raises(InputError, match="a list of texts"):
            encoder.encode(wrong)
    with pytest.raises(InputError, match=r"^Text 2 of 3 is not a string\.$"):
        encoder.encode(["secret", 5, "secret"])


def test_int8_is_near(bert: Path) -> None:
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(WORDS[:14], 8)) for _ in range(100)]
    near: Singles = (open_tiny(bert).encode(texts) * open_tiny(bert, "int8").encode(texts)).sum(1)
    assert near.mean() > 0.99
    assert near.max() < 1 + 1e-6
    assert (near < 1 - 1e-6).any()


def test_progress_ends_at_the_end(bert: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    report: Callable[[str, int, int], None] = lambda *each: seen.append(each)  # noqa: E731
    open_tiny(bert).encode(TEXTS, "query", report)
    assert seen[-1] == ("encoding texts", len(TEXTS), len(TEXTS))


def test_the_runtime_is_told_to_tell_nobody_before_it_is_loaded(tmp_path: Path) -> None:
    """Some versions of onnxruntime keep a number of the machine, and look up a host, if let."""
    (tmp_path / "onnxruntime.py").write_text(
        "import os\nprint(os.environ.get('ORT_DISABLE_TELEMETRY'))\nclass InferenceSession: ...\n"
    )
    own = {"ORT_DISABLE_TELEMETRY": "0"}
    own["PYTHONPATH"] = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", "import veil.encoders._bert"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **own},
    )
    assert done.stdout == "1\n"


def test_loading_the_runtime_leaves_no_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    own = {"HOME": str(home), "XDG_CACHE_HOME": "", "ORT_DISABLE_TELEMETRY": "0"}
    program = "import veil.encoders._bert, time; time.sleep(1)"
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, **own})
    assert [each for each in home.rglob("*") if each.is_file()] == []
