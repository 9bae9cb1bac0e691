"""Small files of every kind that is read, made by hand or by the libraries that read them."""

import io
import zipfile
from pathlib import Path

import pytest

MBOX = b"""From ann@x.example Mon Jan  1 00:00:00 2024
From: Ann <ann@x.example>
To: bob@x.example
Subject: =?utf-8?q?K=C3=A4se?=
Date: Mon, 1 Jan 2024 00:00:00 +0000

The cheese is in the cellar.
>From there take the stairs.

From bob@x.example Mon Jan  1 00:01:00 2024
this message lost its head
\xff\xfe

From bob@x.example Mon Jan  1 00:02:00 2024
From: bob@x.example
Subject: Re: stairs
Content-Type: text/html; charset=no-such-charset

<p>Which <b>stairs</b>?</p><script>alert(1)</script>
"""


def make_pdf(text: str = "", title: str = "") -> bytes:
    """Write a PDF of one page; without a text it is like one that was scanned."""
    drawn = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else "0 0 m 9 9 l S"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    written, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(written))
        written += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n"
    end += f"<< /Size {size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return written + end.encode()


def make_locked_pdf(text: str, password: str, opening: str | None = None) -> bytes:
    """Encrypt a PDF; an empty `opening` lets everybody read it."""
    pypdf = pytest.importorskip("pypdf", reason="the extra 'documents' is not installed")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(make_pdf(text)))
    own = password if opening is None else opening
    writer.encrypt(own, owner_password=password, algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def make_docx(heading: str, *paragraphs: str, cell: str = "") -> bytes:
    docx = pytest.importorskip("docx", reason="the extra 'documents' is not installed")
    document = docx.Document()
    if heading:
        document.add_heading(heading, 1)
    for text in paragraphs:
        document.add_paragraph(text)
    if cell:
        document.add_table(1, 1).cell(0, 0).text = cell
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def edited_docx(data: bytes, old: str, new: str) -> bytes:
    """Change the body of a Word file."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as one, zipfile.ZipFile(target, "w") as other:
        for part in one.infolist():
            content = one.read(part)
            if part.filename == "word/document.xml":
                assert old.encode() in content
                content = content.replace(old.encode(), new.encode())
            other.writestr(part, content)
    return target.getvalue()


def fill(folder: Path) -> Path:
    """Put a file of every kind into a folder, and some that are skipped."""
    (folder / "mail").mkdir(parents=True)
    (folder / "notes.txt").write_text("Ferns\n\nThey like shade and rain.\n")
    (folder / "plan.md").write_text(
        "# The plan\n\n- buy **moss** at the [shop](https://x.example)\n"
    )
    (folder / "page.html").write_text(
        "<title>Lichen</title><script>alert('quokka')</script><p>Lichen on the <b>stones</b>"
    )
    (folder / "mail" / "box.mbox").write_bytes(MBOX)
    (folder / "mail" / "one.eml").write_bytes(
        b"From: ann@x.example\nSubject: Orchids\n\nThe orchids have arrived.\n"
    )
    (folder / "report.pdf").write_bytes(make_pdf("Peat and bog", "A report on bogs"))
    (folder / "letter.docx").write_bytes(make_docx("A letter", "Dear gardener", cell="mulch"))
    (folder / "scan.pdf").write_bytes(make_pdf())
    (folder / "locked.pdf").write_bytes(make_locked_pdf("Secret", "x"))
    (folder / ".hidden.txt").write_text("hidden")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    (folder / "out.txt").symlink_to(Path("/etc/hostname"))
    return folder
