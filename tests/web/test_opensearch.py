"""A browser can take the page as a search engine."""

from xml.etree import ElementTree as ET

import pytest
from tests.web.conftest import ORIGIN, Client, FakeDesk, MakeClient

from veil.web.routes import description

NAMES = {"o": "http://a9.com/-/spec/opensearch/1.1/"}


def read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own


def test_the_description_is_complete(client: Client) -> None:
    reply = client.get("/opensearch.xml")
    assert reply.headers["content-type"].partition(";")[0] == (
        "application/opensearchdescription+xml"
    )
    root = read(reply.text)
    assert root.tag == f"{{{NAMES['o']}}}OpenSearchDescription"
    name = root.findtext("o:ShortName", namespaces=NAMES)
    assert name is not None
    assert 0 < len(name) <= 16
    assert 0 < len(root.findtext("o:Description", "", NAMES)) <= 1024
    assert root.findtext("o:InputEncoding", namespaces=NAMES) == "UTF-8"
    image = root.findtext("o:Image", "", NAMES)
    assert client.get(image.removeprefix(ORIGIN)).status == 200


def test_nothing_suggests_and_nothing_leads_elsewhere(client: Client) -> None:
    root = read(client.get("/opensearch.xml").text)
    addresses = root.findall("o:Url", NAMES)
    assert {item.get("type") for item in addresses} == {
        "text/html",
        "application/opensearchdescription+xml",
    }
    assert all(str(item.get("template")).startswith(f"{ORIGIN}/") for item in addresses)


def test_the_address_searches(client: Client, desk: FakeDesk) -> None:
    root = read(client.get("/opensearch.xml").text)
    url = root.find("o:Url[@type='text/html']", NAMES)
    assert url is not None
    template = str(url.get("template"))
    assert template == f"{ORIGIN}/search?q={{searchTerms}}"
    target = template.removeprefix(ORIGIN).replace("{searchTerms}", "caf%C3%A9%20noir+a")
    assert client.get(target, sec_fetch_site="none").status == 200
    assert desk.searched[0][0] == "café noir a"


@pytest.mark.parametrize("host", ["localhost:8765", "[::1]:8765"])
def test_it_names_the_host_that_was_asked(make_client: MakeClient, host: str) -> None:
    client = make_client(hosts=["127.0.0.1:8765", host])
    assert f"http://{host}/search?q=" in client.ask("GET", "/opensearch.xml", host=host).text


def test_it_stays_well_formed() -> None:
    read(description('http://a"<&'))
