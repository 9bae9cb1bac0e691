"""Readers: what a person would read of a file, its title, and a reason where there is nothing."""

import base64
import builtins
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from tests.corpus.own_files import MBOX, edited_docx, make_docx, make_locked_pdf, make_pdf

from veil.core.errors import install_hint
from veil.corpus.readers import READERS, docx, mbox, reader
from veil.corpus.readers.reader import ReadDocument
from veil.corpus.readers.worker import read

Pieces = Callable[..., list[ReadDocument]]


@pytest.fixture
def pieces(tmp_path: Path) -> Pieces:
    def run(kind: str, data: bytes | str, first: int = 1) -> list[ReadDocument]:
        (tmp_path / "file").write_bytes(data if isinstance(data, bytes) else data.encode())
        return list(read(tmp_path, "file", kind, first))

    return run


@pytest.mark.parametrize(
    ("kind", "data", "title", "text"),
    [
        ("text", "\ufeffFerns\r\n\r\nlike shade\r\n", "Ferns", "like shade"),
        ("text", "K\xe4se\nim Keller".encode("cp1252"), "Käse", "im Keller"),
        ("text", "Käse\nim Keller".encode("utf-16"), "Käse", "im Keller"),
        ("text", "a\x1b[2Jb\x08\n\x0cc", "a[2Jb", "c"),
        ("markdown", "---\ntitle: 'Moss'\ntags: [x]\n---\nIt *grows*.", "Moss", "It grows."),
        ("markdown", "Moss\n====\n\n* [ ] a `b_c`\n\n| x | y |\n|---|---|\n", "Moss",
         "a b_c\n\n| x | y |"),
        ("markdown", "intro\n\n## Head ##\n\n![fern](data:image/png;base64,AAAA) 1. x", "Head",
         "intro\n\nHead\n\nfern 1. x"),
        ("markdown", "# A\n<!-- no --><Script>no\n</script>b <b>c</b>", "A", "b c"),
        ("markdown", "```\n# code *stays*\n```\n\n[1]: https://x.example\n", "# code *stays*", ""),
        ("html", "<h1>Head</h1><p>a<br>b <i>c</i></p><style>p{}</style>", "Head", "a\nb c"),
        ("html", b"<meta charset=iso-8859-1><title>K\xe4se</title>x", "Käse", "x"),
        ("html", "<title>T</title><svg><title>no</title><script>no</script></svg><p>&lt;b&gt;",
         "T", "<b>"),
        ("mail", "Subject: Hi\nFrom: a@x.example\n\nText\n", "Hi", "From: a@x.example\n\nText"),
    ],
)  # fmt: skip
def test_words_and_titles(
    pieces: Pieces, kind: str, data: bytes | str, title: str, text: str
) -> None:
    assert pieces(kind, data) == [ReadDocument(1, title, text)]


def test_data_in_base_64_is_no_text(pieces: Pieces) -> None:
    data = base64.encodebytes(bytes(range(256)) * 2).decode()
    quoted = "".join(f"> {line}\n" for line in data.splitlines() if len(line) > 60)
    long_word = "Donaudampfschifffahrtsgesellschaft" * 2
    found = pieces("text", f"Head\n{quoted}after\n{data.splitlines()[0]}\n{long_word}")
    assert found == [ReadDocument(1, "Head", f"after\n{long_word}")]


def test_of_a_mail_the_plain_text_is_taken_and_no_attachment(pieces: Pieces) -> None:
    parts = [
        ("text/plain", "plain words", ""),
        ("text/html", "<p>marked words", ""),
        ("text/plain", "attached words", "Content-Disposition: attachment; filename=a.txt\n"),
        ("application/octet-stream", "AAAA", "Content-Transfer-Encoding: base64\n"),
    ]

    def mail(some: Sequence[tuple[str, str, str]]) -> str:
        body = "".join(f"--b\nContent-Type: {k}\n{more}\n{text}\n" for k, text, more in some)
        return f"Subject: S\nContent-Type: multipart/mixed; boundary=b\n\n{body}--b--\n"

    assert pieces("mail", mail(parts)) == [ReadDocument(1, "S", "plain words")]
    assert pieces("mail", mail(parts[1:])) == [ReadDocument(1, "S", "marked words")]
    assert pieces("mail", mail(parts[3:])) == [ReadDocument(1, "S", "")]
    secret = mail(parts).replace("multipart/mixed", "multipart/encrypted")
    assert pieces("mail", secret) == [ReadDocument(0, skipped="password")]


def test_a_broken_message_does_not_end_the_mailbox(pieces: Pieces) -> None:
    first, second, third = pieces("mbox", MBOX)
    assert (first.number, first.title) == (1, "Käse")
    assert first.text.startswith("From: Ann <ann@x.example>\nTo: bob@x.example\nDate: Mon, 1 Jan")
    assert first.text.endswith("The cheese is in the cellar.\nFrom there take the stairs.")
    assert second == ReadDocument(2, skipped="damaged")
    assert (third.number, third.title) == (3, "Re: stairs")
    assert third.text == "From: bob@x.example\n\nWhich stairs?"
    assert pieces("mbox", MBOX, 3) == [third]


def test_a_message_that_is_too_large_is_skipped_and_not_held(
    pieces: Pieces,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mbox, "MAX_BYTES", 600)
    long = MBOX.replace(b"this message", b"long\n" * 200)
    assert [piece.skipped for piece in pieces("mbox", long)] == ["", "too-large", ""]


def test_a_pdf_with_text(pieces: Pieces) -> None:
    pytest.importorskip("pypdf", reason="the extra 'documents' is not installed")
    assert pieces("pdf", make_pdf("Peat and bog", "Bogs")) == [
        ReadDocument(1, "Bogs", "Peat and bog")
    ]
    assert pieces("pdf", make_pdf("Peat", "Microsoft Word - Bogs")) == [
        ReadDocument(1, "Bogs", "Peat")
    ]
    assert pieces("pdf", make_pdf("Peat", "untitled")) == [ReadDocument(1, "Peat", "")]
    assert pieces("pdf", make_locked_pdf("Open to all", "x", ""))[0].title == "Open to all"


def test_a_word_file(pieces: Pieces) -> None:
    data = make_docx("Head", "one", "two", cell="three")
    assert pieces("docx", data) == [ReadDocument(1, "Head", "one\ntwo\nthree")]
    assert pieces("docx", make_docx("", "one", "two")) == [ReadDocument(1, "one", "two")]
    fallback = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        "<mc:Choice Requires='x'><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>"
        "<mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
    )
    deleted = "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    boxed = edited_docx(data, "<w:t>one</w:t></w:r>", f"<w:t>1</w:t>{fallback}</w:r>{deleted}")
    assert pieces("docx", boxed) == [ReadDocument(1, "Head", "1\nbox\ntwo\nthree")]


def bomb(parts: int, size: int) -> bytes:
    """Pack parts of nothing but zeros."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(parts):
            packed.writestr(f"word/{number}.xml", bytes(size))
    return target.getvalue()


BAD: Mapping[str, Sequence[tuple[bytes, str]]] = {
    "text": [(b"", "no-text"), (b" \n\t", "no-text"), (b"a\0b", "damaged")],
    "markdown": [(b"---\n---\n", "no-text")],
    "html": [(b"<script>x</script>", "no-text"), (b"<div>" * 20_000, "no-text")],
    "pdf": [(b"", "damaged"), (b"%PDF-1.4 nothing", "damaged"), (b"MZ" * 900, "damaged")],
    "docx": [(b"", "damaged"), (b"PK\3\4 nothing", "damaged"),
             (b"\xd0\xcf\x11\xe0" * 9, "password")],
    "mail": [(b"", "damaged"), (b"no head at all", "damaged"),
             (b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--c\n", "damaged")],
    "mbox": [(b"not a mailbox\n", "damaged")],
}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
def test_what_cannot_be_read_has_a_reason(pieces: Pieces, kind: str) -> None:
    pytest.importorskip("docx", reason="the extra 'documents' is not installed")
    for data, reason in BAD[kind]:
        assert [piece.skipped for piece in pieces(kind, data)] == [reason], data[:20]


def test_scanned_and_locked_files(pieces: Pieces) -> None:
    assert pieces("pdf", make_locked_pdf("Secret", "x")) == [ReadDocument(0, skipped="password")]
    assert pieces("pdf", make_pdf()) == [ReadDocument(0, skipped="no-text")]
    assert pieces("pdf", make_pdf("", "A scan")) == [ReadDocument(0, skipped="no-text")]


def test_what_unpacks_to_too_much_is_not_unpacked(
    pieces: Pieces,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("docx", reason="the extra 'documents' is not installed")
    data, bombs = make_docx("Head", "one"), (bomb(2, 2**20), bomb(101, 0))
    with monkeypatch.context() as patch:
        patch.setattr(docx, "_MAX_UNPACKED", 2**20)
        patch.setattr(docx, "_MAX_PARTS", 100)
        patch.setattr(zipfile.ZipFile, "open", None)  # nothing of them is opened
        for large in bombs:
            assert pieces("docx", large) == [ReadDocument(0, skipped="too-large")]
    entities = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    grown = edited_docx(data, "<w:document", f"{entities}<w:document")
    grown = edited_docx(grown, "<w:t>one</w:t>", "<w:t>one&b;</w:t>")
    assert all("aaaa" not in piece.text for piece in pieces("docx", grown))


def test_a_text_that_is_too_large(pieces: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_BYTES", 1_000)
    assert pieces("text", b"a " * 501) == [ReadDocument(0, skipped="too-large")]
    assert pieces("text", b"a " * 500)[0].skipped == ""


@pytest.mark.parametrize(("kind", "module"), [("pdf", "pypdf"), ("docx", "docx")])
def test_without_the_extra_its_name_is_the_reason(
    pieces: Pieces,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    module: str,
) -> None:
    known = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.partition(".")[0] == module:
            raise ImportError(name)
        return known(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    assert pieces(kind, make_pdf("x")) == [ReadDocument(0, skipped="extra")]
    assert install_hint("documents") in reader.REASONS["extra"]
