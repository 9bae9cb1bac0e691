"""``veil index`` of a folder of files: what it says, what is brought up to date, what stays."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import CANARY, Veil
from tests.corpus.own_files import fill
from tests.search.conftest import BagEncoder

from veil.corpus.collection import open_collection

pytest.importorskip("bm25s", reason="the extra 'search' is not installed")
pytest.importorskip("docx", reason="the extra 'documents' is not installed")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return fill(tmp_path / "my notes")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    for name in ("moss", "fern", "peat"):
        (made / f"{name}.txt").write_text(f"On {name}\nThe {name} is green.")
        os.utime(made / f"{name}.txt", (1e9, 1e9))
    return made


@pytest.fixture
def bag(monkeypatch: pytest.MonkeyPatch) -> BagEncoder:
    made = BagEncoder()
    monkeypatch.setattr("veil.api.encoder", lambda *_: made)
    return made


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in files
    }


def search(veil: Veil, idx: Path, *more: object) -> str:
    told = veil("search", "--engine", f"bm25(index={idx})", "--encoder", "none", *more)
    assert told.code == 0, told.err
    return told.out


def test_what_was_read_and_what_was_not_is_told(veil: Veil, notes: Path, tmp_path: Path) -> None:
    (notes / f"{CANARY}.pdf").write_bytes(f"%PDF-1.4 {CANARY}".encode())
    told = veil("index", notes, "--out", tmp_path / "idx")
    assert (told.code, told.out) == (0, "")
    lines = told.err.splitlines()
    assert lines[0] == "10 files: 10 new, 0 changed, 0 unchanged, 0 removed."
    assert lines[1:-1] == [
        "Skipped 2: damaged, or with the wrong suffix.",
        "Skipped 1: hidden.",
        "Skipped 1: symbolic links, which are not followed.",
        "Skipped 1: without text (scanned pages, pictures, or empty).",
        "Skipped 1: encrypted or protected by a password.",
        "Skipped 1: of an unsupported kind.",
    ]
    assert lines[-1].startswith("8 documents, ")
    assert CANARY not in told.err
    assert (tmp_path / "idx").stat().st_mode & 0o777 == 0o700


def test_a_search_prints_the_path(veil: Veil, notes: Path, tmp_path: Path) -> None:
    veil("index", notes, "--out", tmp_path / "idx")
    assert str(notes / "page.html") in search(veil, tmp_path / "idx", "lichen")
    assert str(notes / "mail" / "box.mbox") in search(veil, tmp_path / "idx", "cheese")
    found = json.loads(search(veil, tmp_path / "idx", "--json", "mulch"))["results"]
    assert [(one["id"], one["path"]) for one in found] == [
        ("letter.docx", str(notes / "letter.docx"))
    ]


def test_run_again_it_reads_what_changed(veil: Veil, plain: Path, tmp_path: Path) -> None:
    out = tmp_path / "idx"
    assert "3 files: 3 new" in veil("index", plain, "--out", out).err
    before = state(out)
    told = veil("index", plain, "--out", out)
    assert (told.code, told.err.splitlines()) == (
        0, ["3 files: 0 new, 0 changed, 3 unchanged, 0 removed.", f"{out} is up to date."]
    )  # fmt: skip
    assert state(out) == before
    (plain / "fern.txt").write_text("On ferns\nThe quillwort is none.")
    (plain / "peat.txt").unlink()
    (plain / "new.md").write_text("# New\nThe liverwort is.")
    told = veil("index", plain, "--out", out)
    assert "3 files: 1 new, 1 changed, 1 unchanged, 1 removed." in told.err
    assert "fern.txt" in search(veil, out, "quillwort")
    assert "new.md" in search(veil, out, "liverwort")
    assert "moss.txt" in search(veil, out, "moss")
    assert "No results" in search(veil, out, "peat")
    assert sorted(path.name for path in tmp_path.iterdir() if "idx" in path.name) == ["idx"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_vectors_of_what_did_not_change_are_kept(
    veil: Veil, plain: Path, tmp_path: Path, bag: BagEncoder
) -> None:
    out = tmp_path / "idx"
    veil("index", plain, "--out", out, "--encoder", "bag")
    assert len(bag.encoded) == 3
    bag.encoded.clear()
    (plain / "fern.txt").write_text("On ferns\nThe quillwort is none.")
    (plain / "a.txt").write_text("First\nof all")
    told = veil("index", plain, "--out", out)  # with the encoder of before
    assert "vectors of bag" in told.err
    assert sorted(bag.encoded) == ["First of all", "On ferns The quillwort is none."]
    passages = list(open_collection(out).documents.passages)
    (rows,) = (out / "vectors").glob("*/vectors.npy")
    assert np.array_equal(np.load(rows), BagEncoder().encode(passages))
    bag.encoded.clear()
    assert "up to date" in veil("index", plain, "--out", out, "--encoder", "bag").err
    assert bag.encoded == []


def test_an_index_without_vectors_is_given_some(
    veil: Veil, plain: Path, tmp_path: Path, bag: BagEncoder
) -> None:
    veil("index", plain, "--out", tmp_path / "idx")
    assert (
        "vectors of bag" in veil("index", plain, "--out", tmp_path / "idx", "--encoder", "bag").err
    )
    assert len(bag.encoded) == 3


def test_an_index_of_something_else_is_refused(veil: Veil, plain: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("Another folder")
    docs = tmp_path / "docs.jsonl"
    docs.write_text('{"id": "d", "text": "x"}\n')
    for number, source in enumerate((other, docs)):
        out = tmp_path / f"idx{number}"
        assert veil("index", source, "--out", out).code == 0
        before = state(out)
        assert "already exists. Delete it" in veil("index", plain, "--out", out).refused()
        assert state(out) == before
    assert "already exists. Delete it" in veil("index", plain, "--out", other).refused()


def test_a_folder_with_a_file_of_documents_stays_a_collection(
    veil: Veil, plain: Path, tmp_path: Path
) -> None:
    (plain / "docs.jsonl").write_text('{"id": "d", "text": "x"}\n')
    assert "1 documents" in veil("index", plain, "--out", tmp_path / "a").err
    (plain / "docs.jsonl").unlink()
    (plain / "documents.txt").write_text("My documents\nare here")  # a note like any other
    assert "4 documents" in veil("index", plain, "--out", tmp_path / "b").err


def test_the_index_may_lie_in_the_folder(veil: Veil, plain: Path) -> None:
    assert veil("index", plain, "--out", plain / "idx").code == 0
    told = veil("index", plain, "--out", plain / "idx")
    assert "Skipped 1: indexes of Veil." in told.err
    assert "up to date" in told.err


def test_a_folder_is_searched_in_an_index(veil: Veil, plain: Path) -> None:
    told = veil("search", "--collection", plain, "--encoder", "none", CANARY).refused()
    assert "veil index FOLDER --out INDEX" in told


def test_a_full_disk_leaves_the_index_as_it_was(
    veil: Veil, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, save = tmp_path / "idx", np.save
    assert veil("index", plain, "--out", out).code == 0
    (plain / "fern.txt").write_text("On ferns\nThe quillwort is none.")
    before = state(out)
    for room in (0, 5, 14):
        left = [room]

        def full(*given: object, **more: object) -> None:
            left[0] -= 1  # noqa: B023
            if left[0] < 0:  # noqa: B023
                raise OSError(errno.ENOSPC, "No space left on device")
            save(*given, **more)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(np, "save", full)
            told = veil("index", plain, "--out", out).refused()
        assert "The index is unchanged" in told
        assert state(out) == before
    assert veil("index", plain, "--out", out).code == 0
    assert "fern.txt" in search(veil, out, "quillwort")
