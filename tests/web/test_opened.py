"""A result opens its file: for who has the token, and so that nothing of it runs as our page."""

import os
from pathlib import Path

import pytest
from tests.corpus.own_files import fill
from tests.web.conftest import Client, FakeDesk
from tests.web.reading import Page
from tests.web.sample_pages import QUERY, common, found
from tests.web.serving import House, serving

from veil.cli import run
from veil.corpus.document_file import OpenedDocument
from veil.proxy.results import ResultItem
from veil.web import pages

EVIL = "<script>fetch('/api/ledger')</script>"
FILES = {
    "a/note.txt": OpenedDocument("note.txt", "same", "Käse\n" + EVIL),
    "page.html": OpenedDocument("page.html", "changed", EVIL),
    'r\u202e "e;\n.pdf': OpenedDocument(
        'r\u202e "e;\n.pdf', "same", None, b"%PDF", "application/pdf"
    ),
    "x.pdf": OpenedDocument("x.pdf", "changed", None, b"%PDF", "application/pdf"),
    "gone.txt": OpenedDocument("gone.txt", "gone"),
}


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk(network=False, standing="own", collection="mine", files=FILES)


def check_harmless(headers: dict[str, str]) -> None:
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"].split("; ")
    assert "sandbox" in policy  # and allows nothing
    assert "default-src 'none'" in policy
    kind, how = headers["content-type"], headers["content-disposition"]
    assert kind == "text/plain; charset=utf-8" or how.startswith("attachment;")


def test_text_is_shown_as_text(client: Client) -> None:
    reply = client.get("/file?id=a/note.txt")
    assert (reply.status, reply.text) == (200, "Käse\n" + EVIL)
    check_harmless(reply.headers)
    assert client.ask("HEAD", "/file?id=a/note.txt").status == 200


def test_a_change_is_told(client: Client) -> None:
    reply = client.get("/file?id=page.html")
    assert reply.text.startswith("[Veil: this file has changed since it was indexed")
    assert reply.text.endswith(EVIL)
    check_harmless(reply.headers)
    disposition = client.get("/file?id=x.pdf").headers["content-disposition"]
    assert (
        disposition
        == "attachment; filename*=UTF-8''x%20%28changed%20since%20it%20was%20indexed%29.pdf"
    )


def test_what_other_programs_read_is_handed_over(client: Client) -> None:
    reply = client.get("/file?id=r%E2%80%AE%20%22e;%0A.pdf")
    assert (reply.status, reply.body) == (200, b"%PDF")
    assert reply.headers["content-type"] == "application/pdf"
    assert (
        reply.headers["content-disposition"] == "attachment; filename*=UTF-8''r%20%22e%3B%20.pdf"
    )
    check_harmless(reply.headers)


def test_nothing_else_is_opened(client: Client) -> None:
    for target in ("/file", "/file?id=", "/file?id=../note.txt", "/file?id=/etc/passwd"):
        assert client.get(target).status == 404
    assert client.get("/file?id=gone.txt").status == 410
    assert client.form("/file", {"id": "a/note.txt"}).status == 405
    for reply in (
        client.ask("GET", "/file?id=a/note.txt", token=False),
        client.ask("GET", "/file?id=a/note.txt", host="evil.example"),
        client.get("/file?id=a/note.txt", sec_fetch_site="cross-site", sec_fetch_mode="no-cors"),
        client.get("/file?id=a/note.txt", origin="https://evil.example"),
        client.get("/file?id=a/note.txt", sec_purpose="prefetch"),
    ):
        assert reply.status in (401, 403, 421)
        assert "Käse" not in reply.text


def test_results_link_to_their_files() -> None:
    items = (
        ResultItem(1, "a b/ä&id=x.txt", "Cheese", "text", 1.0, "/home/me/a b/ä&id=x.txt"),
        ResultItem(2, "https://evil.example/x.txt", "A name", "text", 1.0, "/home/me/x.txt"),
        ResultItem(3, "d17", "No file", "text", 1.0),
    )
    page = Page(pages.results(common(standing="own"), QUERY, found(results=items)))
    links = [
        element.attributes.get("href")
        for element in page.all("a")
        if element.text in ("Cheese", "A name")
    ]
    assert links == [
        "/file?id=a+b%2F%C3%A4%26id%3Dx.txt",
        "/file?id=https%3A%2F%2Fevil.example%2Fx.txt",
    ]
    assert "No file" not in [element.text for element in page.all("a")]


def test_a_real_server_opens_what_the_index_lists_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="the extra 'documents' is not installed")
    house = House.build(tmp_path)
    notes = fill(house.given / "notes")
    (house.given / "secret.txt").write_text("outside")
    assert run(["index", str(notes), "--out", str(house.given / "idx")]) == 0
    with serving(house, f"bm25(index={house.given / 'idx'})") as server:
        page = Page(server.form("/search", {"q": "lichen"}).text)
        (link,) = [element for element in page.all("a") if element.text == "Lichen"]
        reply = server.get(str(link.attributes["href"]))
        assert (reply.status, reply.text) == (200, "Lichen\n\nLichen on the stones\n")
        assert "sandbox" in reply.headers["content-security-policy"]
        message = server.get("/file?id=mail%2Fbox.mbox%2F1")
        assert message.text.startswith("Subject: Käse\nFrom: Ann")
        assert server.get("/file?id=report.pdf").body == (notes / "report.pdf").read_bytes()
        for name in (".hidden.txt", "scan.pdf", "out.txt", "..%2Fsecret.txt", "photo.jpg"):
            assert server.get(f"/file?id={name}").status == 404
        (notes / "notes.txt").unlink()
        (notes / "notes.txt").symlink_to(house.given / "secret.txt")
        assert server.get("/file?id=notes.txt").status == 410
        os.truncate(notes / "plan.md", 3)
        assert "has changed since it was indexed" in server.get("/file?id=plan.md").text
    assert [event for event in house.audit() if event[0] == "socket.connect"] == []
