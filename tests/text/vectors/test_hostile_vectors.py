"""A folder of vectors is not believed: whatever it holds is checked before a mechanism sees it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space
from tests.text.rows import NAMES, built

import veil
from veil.cli import run
from veil.core.errors import InputError
from veil.core.types import Singles
from veil.data import fetch
from veil.text.vectors import embeddings
from veil.text.vectors.embeddings import MAX_NORM, MIN_NORM, Embeddings, open_folder

SPACE = make_space(30, 4)
Change = Callable[[Singles], Singles]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))


def write(folder: Path, words: list[str], vectors: Singles, layout: int) -> Path:
    """Write a folder by hand, with sizes or digests that fit."""
    folder.mkdir()
    np.save(folder / "vectors.npy", vectors)
    (folder / "words.txt").write_bytes("\n".join(words).encode("utf-8", "surrogatepass"))
    names = ("vectors.npy", "words.txt")
    meta: dict[str, object] = {"format": layout, "name": "hostile", "source": ""}
    if layout == 1:
        meta["bytes"] = {name: (folder / name).stat().st_size for name in names}
    else:
        meta["sha256"] = fetch.read_digests(folder, names)
        meta["whole"] = embeddings._digest_of(meta)
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def one(place: int, value: float) -> Change:
    def change(vectors: Singles) -> Singles:
        vectors[place, 0] = value
        return vectors

    return change


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v * np.float32(1e30), "at most 10,000 long"),
        (lambda v: v * np.float32(1e6), "at most 10,000 long"),
        (lambda v: v * np.float32(1e-30), "shorter than 0.0001"),
        (lambda v: v * 0, "shorter than 0.0001"),
        (one(17, np.nan), "Vector 18 of hostile"),
        (one(29, np.inf), "Vector 30 of hostile"),
        (one(0, -np.inf), "Vector 1 of hostile"),
        (one(3, 3e38), "Vector 4 of hostile"),
        (lambda v: v[:-1], "must be a complete folder"),
        (lambda v: v.astype(np.float64), "must be a complete folder"),
        (lambda v: v.ravel()[:30], "must be a complete folder"),
        (lambda v: v[:, :0], "must be a complete folder|must be a table"),
        (np.asfortranarray, "must be a complete folder"),
    ],
)
def test_vectors_in_a_folder(tmp_path: Path, layout: int, change: Change, message: str) -> None:
    vectors = change(SPACE.vectors.copy())
    folder = write(tmp_path / "v", list(SPACE.words), vectors, layout)
    for _ in range(2):
        with pytest.raises(InputError, match=message):
            veil.load_embeddings(folder)


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize(
    ("word", "message"),
    [
        (SPACE.words[0], "has a duplicate word"),
        ("", "must be a string"),
        ("two\nlines", "must be a complete folder"),
    ],
)
def test_words_in_a_folder(tmp_path: Path, layout: int, word: str, message: str) -> None:
    words = [*SPACE.words[:-1], word]
    with pytest.raises(InputError, match=message):
        open_folder(write(tmp_path / "v", words, SPACE.vectors, layout))


def test_one_letter_in_two_spellings_is_one_word(tmp_path: Path) -> None:
    words = [*SPACE.words[:-2], "\u00e9t\u00e9", "e\u0301te\u0301"]
    with pytest.raises(InputError, match="has a duplicate word"):
        open_folder(write(tmp_path / "v", words, SPACE.vectors, 1))
    text = "e\u0301te\u0301 1 2\n\u00e9t\u00e9 3 4\ncat 5 6\n"
    (tmp_path / "v.txt").write_text(text, encoding="utf-8")
    space = veil.load_embeddings(tmp_path / "v.txt")  # of a file, the first one counts
    assert space.words == ("\u00e9t\u00e9", "cat")
    assert space.id("e\u0301te\u0301") == space.id("\u00e9t\u00e9") == 0


def test_symbols_of_an_earlier_folder_are_left_out(tmp_path: Path) -> None:
    words = ["(", *SPACE.words[1:-1], ". . ."]
    space = open_folder(write(tmp_path / "v", words, SPACE.vectors, 1))
    assert space.words == SPACE.words[1:-1]
    np.testing.assert_array_equal(space.vectors, SPACE.vectors[1:-1])
    again = open_folder(write(tmp_path / "w", list(SPACE.words[1:-1]), SPACE.vectors[1:-1], 1))
    assert space.content != again.content  # tables of one are not taken for those of the other
    with pytest.raises(InputError, match="begin with a letter or a digit"):
        open_folder(write(tmp_path / "x", words, SPACE.vectors, 2))


def test_a_path_is_no_reason_to_believe(tmp_path: Path) -> None:
    for factor in (1e30, np.nan):
        with pytest.raises(InputError):
            Embeddings(SPACE.words, SPACE.vectors * np.float32(factor), "mine", tmp_path)


def test_bounds_of_length() -> None:
    ones = np.eye(2, dtype=np.float32)
    for length in (MIN_NORM * 1.01, MAX_NORM):
        Embeddings(("a", "b"), ones * np.float32(length))
    for length in (MIN_NORM * 0.99, MAX_NORM * 1.01):
        with pytest.raises(InputError):
            Embeddings(("a", "b"), ones * np.float32(length))
    Embeddings(("a", "b", "c"), np.array([[1, 0], [0, 0], [0, 0]]))  # some may have no vector


@pytest.mark.parametrize("name", NAMES)
def test_words_in_one_place_neither_hang_nor_differ(name: str) -> None:
    same = Embeddings(tuple(f"word{i}" for i in range(40)), np.ones((40, 3), dtype=np.float32))
    mechanism = built(name, epsilon=5)
    if mechanism.name == "mahalanobis":
        with pytest.raises(veil.ParameterError, match="do not vary"):
            veil.protect(["word1 word7"], mechanism, same, 20, select="all")
        return
    out = veil.protect(["word1 word7"], mechanism, same, 20, select="all")
    assert all(word in same.words for row in out.rows[0] for word in row.split())
    if mechanism.name in ("santext", "tem"):
        law = veil.law(mechanism, same, list(same.words))
        np.testing.assert_allclose(law, 1 / 40)


def test_a_changed_file_of_a_folder_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "v", list(SPACE.words), SPACE.vectors, 1)
    monkeypatch.setattr(fetch, "_RECENT", 0)
    open_folder(folder)
    looked: list[str] = []
    full = embeddings._check_in_full

    def counted(*given: object) -> object:
        looked.append("full")
        return full(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(embeddings, "_check_in_full", counted)
    open_folder(folder)
    assert looked == []
    vectors = SPACE.vectors.copy()
    vectors[3, 1] = np.nan
    np.save(folder / "new.npy", vectors)
    (folder / "new.npy").replace(folder / "vectors.npy")
    with pytest.raises(InputError, match="Vector 4 of hostile"):
        open_folder(folder)
    assert looked == ["full"]


@pytest.mark.parametrize("fault", [b"", b"{", b"[]", b'{"version": 1}', b"\xff" * 10])
def test_a_record_that_cannot_be_read_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: bytes
) -> None:
    folder = write(tmp_path / "v", list(SPACE.words), SPACE.vectors, 1)
    monkeypatch.setattr(fetch, "_RECENT", 0)
    open_folder(folder)
    (record,) = (tmp_path / "cache" / "checked").iterdir()
    assert "hostile" not in record.read_text()
    record.write_bytes(fault)
    assert open_folder(folder).size == 30


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(fetch, "_RECENT", 0)
    folder = write(tmp_path / "v", list(SPACE.words), SPACE.vectors, 1)
    assert open_folder(folder).size == 30


def test_odd_lengths_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "v"
    for factor, told in ((1, False), (1000, True), (0.001, True)):
        Embeddings(SPACE.words, SPACE.vectors * np.float32(factor), "mine").save(folder)
        for command in (["vectors", str(folder)], ["explain", "cmp", "--epsilon", "5"]):
            named = [] if command[0] == "vectors" else ["--vectors", str(folder), SPACE.words[0]]
            assert run([*command, *named]) == 0
            assert ("Epsilon counts per unit of distance" in capsys.readouterr().err) == told
        shutil.rmtree(folder)


def test_checking_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["vectors", "check"]) == 0
    assert "The cache is empty" in capsys.readouterr().out
    assert run(["vectors", "check", "glove-100d"]) == 2
    assert "is not in the cache" in capsys.readouterr().err
    assert run(["vectors", "check", "glove-7d"]) == 2
    assert "glove-7d" in capsys.readouterr().err
