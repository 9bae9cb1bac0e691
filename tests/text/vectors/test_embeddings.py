"""Word vectors in memory and on disk."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from veil.core.errors import InputError
from veil.text.vectors.embeddings import FORMAT, Embeddings, open_folder


@pytest.fixture
def tiny() -> Embeddings:
    rng = np.random.default_rng(3)
    words = ("the", "Paris", "paris", "naïve", "New York")
    return Embeddings(words, rng.normal(size=(5, 3)).astype(np.float32), "tiny")


def test_save_and_open(tiny: Embeddings, tmp_path: Path) -> None:
    tiny.save(tmp_path / "v", "made in a test")
    again = open_folder(tmp_path / "v")
    assert isinstance(again.vectors, np.memmap)
    assert again.vectors.dtype == np.float32
    assert again.words == tiny.words
    assert (again.name, again.path) == ("tiny", tmp_path / "v")
    np.testing.assert_array_equal(again.vectors, tiny.vectors)
    assert json.loads((tmp_path / "v" / "meta.json").read_text())["source"] == "made in a test"
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_vectors_are_read_only(tiny: Embeddings, tmp_path: Path) -> None:
    tiny.save(tmp_path / "v")
    for space in (tiny, open_folder(tmp_path / "v")):
        with pytest.raises(ValueError, match="read-only"):
            space.vectors[0, 0] = 1


def test_float64_and_lists_become_float32() -> None:
    space = Embeddings(("a", "b"), [[1, 2], [3, 4]], "lists")  # type: ignore[arg-type]
    assert space.vectors.dtype == np.float32
    assert space.vectors.tolist() == [[1, 2], [3, 4]]
    assert space.squares.dtype == np.float64
    assert space.squares.tolist() == [5, 25]


@pytest.mark.parametrize("file", ["vectors.npy", "words.txt", "meta.json"])
@pytest.mark.parametrize("fault", ["truncated", "missing", "longer", "empty"])
def test_torn_folder(tiny: Embeddings, tmp_path: Path, file: str, fault: str) -> None:
    folder = tmp_path / "v"
    tiny.save(folder)
    path = folder / file
    data = path.read_bytes()
    path.unlink()
    if fault != "missing":
        torn = {"truncated": data[:-1], "longer": data + b"\nx", "empty": b""}
        path.write_bytes(torn[fault])
    with pytest.raises(InputError) as caught:
        open_folder(folder)
    assert str(folder) in str(caught.value)
    assert "load the vectors again" in str(caught.value)


@pytest.mark.parametrize(
    "meta", [{"format": FORMAT + 1}, {"format": None}, {"bytes": {"words.txt": 1}}, {"bytes": 5}]
)
def test_meta_of_another_format(tiny: Embeddings, tmp_path: Path, meta: dict[str, object]) -> None:
    folder = tmp_path / "v"
    tiny.save(folder)
    path = folder / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | meta))
    with pytest.raises(InputError):
        open_folder(folder)


def test_folder_of_something_else(tmp_path: Path) -> None:
    for text in ("[]", "5", "not json"):
        (tmp_path / "meta.json").write_text(text)
        with pytest.raises(InputError):
            open_folder(tmp_path)


def test_pickle_by_path_is_small_and_opened_once(tmp_path: Path) -> None:
    vectors = np.ones((5000, 20), dtype=np.float32)
    Embeddings(tuple(f"w{i}" for i in range(5000)), vectors, "big").save(tmp_path / "v")
    data = pickle.dumps(open_folder(tmp_path / "v"))
    assert len(data) < 1000
    first, second = pickle.loads(data), pickle.loads(data)  # noqa: S301
    assert isinstance(first.vectors, np.memmap)
    assert first is second  # so that a worker keeps its memo from job to job
    np.testing.assert_array_equal(first.vectors, vectors)


def test_pickle_by_value(tiny: Embeddings) -> None:
    tiny.memo.put("x", np.zeros(10))
    again = pickle.loads(pickle.dumps(tiny))  # noqa: S301
    assert (again.words, again.name) == (tiny.words, tiny.name)
    np.testing.assert_array_equal(again.vectors, tiny.vectors)
    assert "x" not in again.memo
    assert not again.vectors.flags.writeable


def test_memo_is_bounded_and_ones_own(tiny: Embeddings) -> None:
    assert tiny.memo.limit == 256 * 2**20
    other = Embeddings(tiny.words, tiny.vectors, "other")
    tiny.memo.put("x", np.zeros(1))
    assert "x" not in other.memo


def test_lookup_falls_back_to_lower_case(tiny: Embeddings) -> None:
    assert tiny.id("Paris") == 1
    assert tiny.id("paris") == 2
    assert tiny.id("PARIS") == 2
    assert tiny.id("NAÏVE") == 3
    assert tiny.id("london") == -1
    assert tiny.ids(["THE", "Paris"]).tolist() == [0, 1]


def test_unknown_word_is_named_by_its_place_not_quoted(tiny: Embeddings) -> None:
    with pytest.raises(InputError, match="Word 2 of 2 is not in the vocabulary of tiny") as caught:
        tiny.ids(["the", "leukaemia"])
    assert "leukaemia" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (("a", "b"), [[1, 2], [3, np.nan]], "Vector 2 of mine must be finite"),
        (("a", "b"), [[np.inf, 2], [3, 4]], "Vector 1 of mine must be finite"),
        (("a", "b"), [[1, 2], [3e30, 4]], "Vector 2 of mine .* at most 10,000 long"),
        (("a", "b"), [[1, 2], [1e4, 1e4]], "Vector 2 of mine .* at most 10,000 long"),
        (("a", "b"), [[1, 2], [3e300, 4]], "Vector 2 of mine must be finite"),
        (("a", "b"), [[0, 0], [0, 0]], "all shorter than 0.0001"),
        (("a", "b"), [[1e-30, 0], [0, 1e-42]], "all shorter than 0.0001"),
        (("a", "a"), [[1, 2], [3, 4]], "mine has a duplicate word"),
        (("\u00e9t\u00e9", "e\u0301te\u0301"), [[1, 2], [3, 4]], "mine has a duplicate word"),
        (("a",), [[1, 2]], "at least 2 words"),
        (("a", "-"), [[1, 2], [3, 4]], "at least 2 words"),
        (("(", "-"), [[1, 2], [3, 4]], "at least 2 words"),
        (("a", ""), [[1, 2], [3, 4]], "Every word of mine must be a string"),
        (("a", "b\nc"), [[1, 2], [3, 4]], "without line breaks"),
        (("a", 5), [[1, 2], [3, 4]], "Every word of mine must be a string"),
        (("a",), [[1, 2], [3, 4]], "mine has 1 words but 2 vectors"),
        (("a", "b"), [[1, 2], [3]], "rows of equal length"),
        (("a", "b"), [["x", "y"], ["z", "w"]], "must be numbers"),
        ((), np.empty((0, 3)), "at least one word"),
        (("a",), np.empty((1, 0)), "at least one word"),
        (("a",), [1.0], "Got shape"),
        (("a",), np.zeros((1, 10_001)), "dimensions"),
    ],
)
def test_bad_vectors_are_refused(words: tuple[str, ...], vectors: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Embeddings(words, vectors, "mine")  # type: ignore[arg-type]
    assert str(caught.value).endswith(".")


def test_nan_far_down_is_found_and_counted() -> None:
    vectors = np.zeros((70_000, 1), dtype=np.float32)
    vectors[69_999] = np.nan
    with pytest.raises(InputError, match="Vector 70,000"):
        Embeddings(tuple(map(str, range(70_000))), vectors, "mine")


def test_meta_without_name(tiny: Embeddings, tmp_path: Path) -> None:
    tiny.save(tmp_path / "v")
    path = tmp_path / "v" / "meta.json"
    meta = json.loads(path.read_text())
    del meta["name"]
    path.write_text(json.dumps(meta))
    with pytest.raises(InputError):
        open_folder(tmp_path / "v")


def test_the_callers_array_is_left_alone() -> None:
    mine = np.eye(2, dtype=np.float32)
    Embeddings(("a", "b"), mine, "mine")
    mine[0, 0] = 5


def test_saving_over_another_space_is_not_silent(tiny: Embeddings, tmp_path: Path) -> None:
    tiny.save(tmp_path / "v")
    with pytest.raises(InputError):
        Embeddings(("a", "b"), np.eye(2, dtype=np.float32), "other").save(tmp_path / "v")
