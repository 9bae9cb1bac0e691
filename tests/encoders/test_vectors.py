"""Vectors of documents on disk: made once, found by content, never trusted."""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from veil.core.errors import InputError
from veil.core.types import Role, Singles
from veil.data.arrays import Strings
from veil.encoders import vectors
from veil.encoders import vectors as module
from veil.encoders.encoder import unit
from veil.encoders.vectors import (
    DocumentVectors,
    digest_in_blocks,
    document_vectors,
    open_document_vectors,
)


class Letters:
    """Counts letters: an encoder whose vectors are known."""

    dim = 26

    def __init__(self, key: str = "letters") -> None:
        self.key = key
        self.seen = 0
        self.largest = 0

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        assert role == "document"
        self.seen += len(texts)
        self.largest = max(self.largest, len(texts))
        counts = [[text.count(chr(97 + i)) for i in range(26)] for text in texts]
        return unit(np.array(counts, dtype=np.float32).reshape(len(texts), 26))


class Lazy(Sequence[str]):
    """Texts made when asked for."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: int | slice) -> str | list[str]:  # type: ignore[override]
        return self._texts[place]


TEXTS = ["abba", "cab", "", "abba", "zebra", "é\ud800x"]


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_encoded_once_and_mapped(tmp_path: Path) -> None:
    first, second = Letters(), Letters()
    made = document_vectors(Lazy(TEXTS), first, tmp_path)
    found = document_vectors(TEXTS, second, tmp_path)
    assert (first.seen, second.seen) == (6, 0)
    for each in (made, found):
        assert isinstance(each.vectors, np.memmap)
        assert np.array_equal(each.vectors, Letters().encode(TEXTS))
        assert (len(each), each.key) == (6, "letters")
        assert each.path is not None
        assert each.path.parent == tmp_path
        with pytest.raises(ValueError, match="read-only"):
            each.vectors[0, 0] = 1


def test_packed_texts_are_the_same_texts(tmp_path: Path) -> None:
    texts = ["abba", "", "zebra", "é𝄞"]
    document_vectors(texts, Letters(), tmp_path)
    packed = Strings.of(["before", *texts])
    for same in (Strings.of(texts), Strings(packed.blob, packed.offsets[1:])):
        found = open_document_vectors(same, Letters(), tmp_path)
        assert found is not None
        assert found.lookup(["zebra", "before"]).tolist() == [2, -1]


def test_a_list_that_changes_later_does_not_matter(tmp_path: Path) -> None:
    texts = list(TEXTS)
    found = document_vectors(texts, Letters(), tmp_path)
    texts[1] = "secret"
    assert found.lookup(["cab", "secret"]).tolist() == [1, -1]


def test_lookup_is_by_content(tmp_path: Path) -> None:
    found = document_vectors(TEXTS, Letters(), tmp_path)
    asked = ["zebra", "abba", "Abba", "", "abba ", "é\ud800x", "cab"]
    assert found.lookup(asked).tolist() == [4, 0, -1, 2, -1, 5, 1]
    assert found.lookup([]).tolist() == []
    assert found.lookup(asked).dtype == np.int64


def test_lookup_among_many(tmp_path: Path) -> None:
    texts = [f"text {i % 900}" for i in range(1000)]
    found = document_vectors(texts, Letters(), tmp_path)
    assert found.lookup([f"text {i}" for i in range(1000)]).tolist() == [
        *range(900),
        *[-1] * 100,
    ]


def test_other_texts_order_or_model_are_other_vectors(tmp_path: Path) -> None:
    sets = [TEXTS, TEXTS[::-1], TEXTS[:-1], ["ab", "c"], ["a", "bc"], []]
    for texts in sets:
        encoder = Letters()
        assert document_vectors(texts, encoder, tmp_path).vectors.shape == (len(texts), 26)
        assert encoder.seen == len(texts)
    other = Letters("other")
    document_vectors(TEXTS, other, tmp_path)
    assert other.seen == len(TEXTS)
    assert len(list(tmp_path.iterdir())) == len(sets) + 1


def truncate(folder: Path) -> None:
    path = folder / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1])


def flip(folder: Path) -> None:
    path = folder / "vectors.npy"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def no_header(folder: Path) -> None:
    (folder / "header.json").unlink()


def no_json(folder: Path) -> None:
    (folder / "header.json").write_text("[" * 9000)


def huge_header(folder: Path) -> None:
    path = folder / "header.json"
    path.write_text(path.read_text() + " " * 20_000)


def of_another_model(folder: Path) -> None:
    path = folder / "header.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "encoder": "evil"}))


def pickled(folder: Path) -> None:
    rewrite(folder, np.array([{}], dtype=object))


def other_shape(folder: Path) -> None:
    rewrite(folder, np.zeros((5, 26), dtype=np.float32))


def other_type(folder: Path) -> None:
    rewrite(folder, np.zeros((6, 26), dtype=np.float64))


def rewrite(folder: Path, array: object) -> None:
    """Put another array there, with a header that vouches for it."""
    np.save(folder / "vectors.npy", array, allow_pickle=True)  # type: ignore[arg-type]
    path = folder / "header.json"
    told = json.loads(path.read_text())
    told["sha256 of 16 MB blocks"] = digest_in_blocks(folder / "vectors.npy")
    path.write_text(json.dumps(told))


FAULTS = [truncate, flip, no_header, no_json, huge_header, of_another_model]


@pytest.mark.parametrize("fault", [*FAULTS, pickled, other_shape, other_type])
def test_what_is_not_whole_is_made_anew(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    made = document_vectors(TEXTS, Letters(), tmp_path)
    assert made.path is not None
    fault(made.path)
    assert open_document_vectors(TEXTS, Letters(), tmp_path) is None
    again = Letters()
    found = document_vectors(TEXTS, again, tmp_path)
    assert again.seen == len(TEXTS)
    assert np.array_equal(found.vectors, Letters().encode(TEXTS))
    assert len(files(tmp_path)) == 2


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 4321])
def test_every_byte_counts_whatever_the_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", 1000)
    monkeypatch.setattr(vectors, "_PIECE", 300)  # does not divide a block
    data = np.random.default_rng(size).bytes(size)
    blocks = [data[start : start + 1000] for start in range(0, size, 1000)]
    whole = b"".join(hashlib.sha256(block).digest() for block in blocks)
    file = tmp_path / "file"
    file.write_bytes(data)
    assert digest_in_blocks(file) == hashlib.sha256(whole).hexdigest()
    seen = {digest_in_blocks(file)}
    for place in range(0, size, 97):
        file.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        seen.add(digest_in_blocks(file))
    assert len(seen) == 1 + len(range(0, size, 97))


def test_file_in_the_way_is_replaced(tmp_path: Path) -> None:
    made = document_vectors(TEXTS, Letters(), tmp_path / "a")
    assert made.path is not None
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / made.path.name).write_text("in the way")
    assert document_vectors(TEXTS, Letters(), tmp_path / "b").path is not None


def test_open_only(tmp_path: Path) -> None:
    assert open_document_vectors(TEXTS, Letters(), tmp_path) is None
    document_vectors(TEXTS, Letters(), tmp_path)
    found = open_document_vectors(TEXTS, Letters(), tmp_path)
    assert isinstance(found, DocumentVectors)
    assert found.lookup(["cab"]).tolist() == [1]


def test_owner_only_under_the_cache(cache: Path) -> None:
    made = document_vectors(TEXTS, Letters())
    assert made.path is not None
    assert made.path.parent == cache / "document-vectors"
    for folder in (made.path, made.path.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in files(cache):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert all(text not in path.read_bytes() for text in (b"abba", b"zebra"))


def test_memory_is_bounded_while_building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEP", 100)
    texts = [f"text {i}" for i in range(1050)]
    encoder = Letters()
    seen: list[tuple[str, int, int]] = []
    made = document_vectors(texts, encoder, tmp_path, lambda *each: seen.append(each))
    assert encoder.largest == 100
    assert np.array_equal(made.vectors, Letters().encode(texts))
    assert seen[-1] == ("encoding documents", 1050, 1050)


class FullDisk:
    """A file of which the third write fails, after writing half."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = Path.open

        def opened(path: Path, mode: str = "r", *rest: object, **named: object) -> object:
            file = real(path, mode, *rest, **named)  # type: ignore[call-overload]
            return _Failing(file) if mode == "w+b" else file

        monkeypatch.setattr(Path, "open", opened)


class _Failing:
    def __init__(self, file: object) -> None:
        self._file = file
        self._writes = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def __enter__(self) -> "_Failing":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()  # type: ignore[attr-defined]

    def write(self, data: bytes) -> int:
        self._writes += 1
        if self._writes > 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        half = data if self._writes < 4 else bytes(data[: len(data) // 2])
        return int(self._file.write(half))  # type: ignore[attr-defined]


def test_full_disk_keeps_what_was_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FullDisk(monkeypatch)
    monkeypatch.setattr(module, "_STEP", 100)
    texts = [f"text {chr(97 + i % 26)} {i}" for i in range(1000)]
    encoder = Letters()
    made = document_vectors(texts, encoder, tmp_path)
    assert made.path is None
    assert encoder.seen == 1000  # nothing was encoded twice
    assert np.array_equal(made.vectors, Letters().encode(texts))
    assert made.lookup(texts[7:8]).tolist() == [7]
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    made = document_vectors(TEXTS, Letters(), tmp_path / "file" / "below")
    assert made.path is None
    assert np.array_equal(made.vectors, Letters().encode(TEXTS))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert document_vectors(TEXTS, Letters(), tmp_path).path is None
    tmp_path.chmod(0o700)


def test_failing_encoder_leaves_nothing(tmp_path: Path) -> None:
    class Broken(Letters):
        def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
            raise OSError(errno.EIO, "the model is broken")

    with pytest.raises(OSError, match="the model is broken"):
        document_vectors(TEXTS, Broken(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_list_of_texts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a list of texts"):
        document_vectors("secret", Letters(), tmp_path)
    with pytest.raises(InputError, match=r"^Text 2 of 2 is not a string\.$"):
        document_vectors(["secret", 5], Letters(), tmp_path)  # type: ignore[list-item]
