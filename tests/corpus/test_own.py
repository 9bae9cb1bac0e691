"""A folder of files as a collection: what is read, what is left out, and what changed."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.corpus.own_files import MBOX, fill, make_pdf

from veil.core.errors import InputError
from veil.corpus import folder
from veil.corpus.collection import Collection, Document, Documents, open_collection
from veil.corpus.document_file import open_document
from veil.corpus.folder import IndexChanges
from veil.corpus.listing import open_inside
from veil.corpus.readers.reader import ReadDocument
from veil.corpus.readers.worker import ReaderProcess

LONG_AGO = 10**18  # nanoseconds


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    for name in "abc":
        write(made / f"{name}.txt", f"Title {name}\nwords of {name}")
    write(made / "box.mbox", MBOX)
    return made


def write(path: Path, content: str | bytes, when: int = LONG_AGO) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, ns=(when, when))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which files are read."""
    noted: list[str] = []
    read = ReaderProcess.read

    def noting(self: ReaderProcess, path: str, kind: str) -> Iterator[ReadDocument]:
        noted.append(path)
        return read(self, path, kind)

    monkeypatch.setattr(ReaderProcess, "read", noting)
    return noted


def spelt(collection: Collection) -> dict[str, tuple[str, str]]:
    packed = collection.documents
    return dict(zip(packed.ids, zip(packed.titles, packed.texts, strict=True), strict=True))


def test_every_kind_is_read_and_what_is_not_is_counted(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="the extra 'documents' is not installed")
    made, changes = folder.gather(fill(tmp_path / "notes"))
    found = spelt(made)
    assert {name: title for name, (title, _) in found.items()} == {
        "letter.docx": "A letter",
        "mail/box.mbox/1": "Käse",
        "mail/box.mbox/3": "Re: stairs",
        "mail/one.eml": "Orchids",
        "notes.txt": "Ferns",
        "page.html": "Lichen",
        "plan.md": "The plan",
        "report.pdf": "A report on bogs",
    }
    assert found["plan.md"][1] == "buy moss at the shop"
    assert "quokka" not in str(found)
    assert made.files is not None
    assert made.files.skipped == {
        "damaged": 1, "hidden": 1, "link": 1, "no-text": 1, "password": 1, "unknown": 1,
    }  # fmt: skip
    assert (made.name, changes) == ("notes", IndexChanges(new=9))


def test_what_is_left_out(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / ".git").mkdir(parents=True)
    (notes / ".git" / "a.txt").write_text("in a hidden folder")
    (notes / "a.txt").write_text("x")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "b.txt").write_text("outside")
    (notes / "away").symlink_to(tmp_path / "secret")
    (notes / "b.txt").symlink_to(tmp_path / "secret" / "b.txt")
    (notes / "round").symlink_to(notes)
    os.mkfifo(notes / "pipe.txt")
    Path(os.fsdecode(bytes(notes) + b"/\xff.txt")).write_text("x")
    (notes / "In\\box.txt").write_text("x")
    made, _ = folder.gather(notes)
    made.save(notes / "idx")
    files, left = folder.walk(notes)
    assert [file.path for file in files] == ["a.txt"]
    assert left == {"hidden": 1, "link": 3, "special": 1, "name": 2, "index": 1}


def test_a_mailbox_without_an_ending_is_known_by_how_it_begins(tmp_path: Path) -> None:
    (tmp_path / "Inbox").write_bytes(MBOX)
    (tmp_path / "README").write_text("From here on nothing")
    assert [(file.path, file.kind) for file in folder.walk(tmp_path)[0]] == [("Inbox", "mbox")]


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(make_pdf())
    (tmp_path / "a.jpg").touch()
    with pytest.raises(InputError, match=r"no readable documents \(2 files or folders"):
        folder.gather(tmp_path)


def test_only_what_changed_is_read_again(notes: Path, tmp_path: Path, reads: list[str]) -> None:
    first, _ = folder.gather(notes)
    saved = first.save(tmp_path / "idx")
    assert sorted(reads) == ["a.txt", "b.txt", "box.mbox", "c.txt"]
    reads.clear()
    again, changes = folder.gather(notes, open_collection(tmp_path / "idx"))
    assert (reads, changes, changes.any) == ([], IndexChanges(unchanged=4), False)
    assert spelt(again) == spelt(first)
    write(notes / "a.txt", "Title a\nother words", LONG_AGO + 1)  # changed
    (notes / "b.txt").unlink()  # removed
    os.utime(notes / "c.txt", ns=(1, 1))  # touched: the same by its digest
    write(notes / "aa.txt", "New\none")  # new, in the middle
    third, changes = folder.gather(notes, open_collection(tmp_path / "idx"))
    assert sorted(reads) == ["a.txt", "aa.txt"]
    assert changes == IndexChanges(new=1, changed=1, unchanged=2, removed=1)
    assert spelt(third) == spelt(folder.gather(notes)[0])
    assert list(third.documents.ids) == ["a.txt", "aa.txt", "box.mbox/1", "box.mbox/3", "c.txt"]
    assert saved.files is not None
    assert again.files is not None
    assert again.files.rows == saved.files.rows


def test_a_change_that_keeps_the_size_is_seen(notes: Path) -> None:
    first, _ = folder.gather(notes)
    write(notes / "a.txt", "Title a\nwords of A", LONG_AGO + 1)
    assert folder.gather(notes, first)[1] == IndexChanges(changed=1, unchanged=3)


def test_a_file_that_was_just_written_is_known_by_its_digest_alone(notes: Path) -> None:
    """It may be written again within the same tick of the clock, and show the same time."""
    (notes / "a.txt").write_text("Title a\nwords of 1")
    now = (notes / "a.txt").stat().st_mtime_ns
    first, _ = folder.gather(notes)
    write(notes / "a.txt", "Title a\nwords of 2", now)
    again, changes = folder.gather(notes, first)
    assert changes.changed == 1
    assert spelt(again)["a.txt"] == ("Title a", "words of 2")


def test_what_failed_for_the_time_being_is_tried_again(notes: Path, reads: list[str]) -> None:
    write(notes / "empty.txt", "")
    first, _ = folder.gather(notes)
    assert first.files is not None
    rows = [
        replace(row, documents=0, skipped={"too-slow": 1}) if row.path == "b.txt" else row
        for row in first.files.rows
    ]
    some = [Document(name, *words) for name, words in spelt(first).items() if name != "b.txt"]
    before = Collection("x", Documents.of(some), files=replace(first.files, rows=rows))
    reads.clear()
    again, changes = folder.gather(notes, before)
    assert reads == ["b.txt"]  # not the empty file, which stays empty
    assert changes == IndexChanges(changed=1, unchanged=4)
    assert spelt(again) == spelt(first)


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../secret", "a/../../secret", "/etc/passwd", "link", "in/x", "pipe",
             "folder", "none", "a\0b", "folder/", "a\\b"],
)  # fmt: skip
def test_nothing_outside_of_the_folder_is_opened(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x").write_text("outside")
    (root / "link").symlink_to("../secret")
    (root / "in").symlink_to("../elsewhere")
    os.mkfifo(root / "pipe")
    with pytest.raises(OSError):  # noqa: PT011 - of any kind
        open_inside(root, path)


def test_a_document_opens_its_file(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="the extra 'documents' is not installed")
    notes = fill(tmp_path / "notes")
    made, _ = folder.gather(notes)
    texts = {
        "notes.txt": (notes / "notes.txt").read_text(),
        "page.html": "Lichen\n\nLichen on the stones\n",
    }
    texts["plan.md"] = (notes / "plan.md").read_text()
    texts["mail/one.eml"] = "Subject: Orchids\nFrom: ann@x.example\n\nThe orchids have arrived.\n"
    texts["mail/box.mbox/3"] = "Subject: Re: stairs\nFrom: bob@x.example\n\nWhich stairs?\n"
    for name, text in texts.items():
        opened = open_document(made, name)
        assert opened is not None
        assert (opened.state, opened.text, opened.data, opened.media) == ("same", text, b"", "")
    for name in ("report.pdf", "letter.docx"):
        opened = open_document(made, name)
        assert opened is not None
        assert (opened.name, opened.state, opened.text) == (name, "same", None)
        assert opened.data == (notes / name).read_bytes()
    for name in ("", "scan.pdf", "mail/box.mbox", "mail/box.mbox/2", "mail/box.mbox/9",
                 ".hidden.txt", "out.txt", "../notes/notes.txt", "notes.txt/1"):  # fmt: skip
        assert open_document(made, name) is None, name


@pytest.mark.parametrize("name", ["notes.txt", "page.html", "mail/box.mbox/1", "report.pdf"])
def test_a_file_that_changed_or_went_is_told(tmp_path: Path, name: str) -> None:
    pytest.importorskip("docx", reason="the extra 'documents' is not installed")
    notes = fill(tmp_path / "notes")
    made, _ = folder.gather(notes)
    file = notes / name.removesuffix("/1")

    def state() -> str:
        opened = open_document(made, name)
        assert opened is not None
        return opened.state

    os.utime(file, ns=(5, 5))
    assert state() == "same"
    file.write_bytes(file.read_bytes() + b" ")
    assert state() == "changed"
    file.rename(notes / "kept")
    assert state() == "gone"
    file.symlink_to(notes / "kept")  # what it leads to may be anywhere
    assert state() == "gone"
