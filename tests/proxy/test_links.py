"""Links: what is shown is where they lead; what is read in two ways is no link."""

import unicodedata

import pytest
from tests.web.reading import Page
from tests.web.sample_pages import QUERY, common, found

from veil.proxy.answers import ItemAnswer
from veil.proxy.results import MOST, Link, ResultItem, link_of
from veil.web import pages

HOSTILE = [
    "https://evil.example\\@good.example/",  # browsers take the backslash for a slash
    "https://good.example\\.evil.example/",
    "https://evil.example\\good.example",
    "https:\\\\evil.example/",
    "https:/\\evil.example/",
    "https://good.example/..\\..\\a",
    "https://good.example@evil.example/",
    "https://user:good.example@evil.example/",
    "https://good.example%40evil.example/",
    "https://good.example%2F@evil.example/",
    "https://good%2eexample/",
    "https://@evil.example/",
    "https://a@b@evil.example/",
    "https:///evil.example/",
    "https:evil.example/",
    "https://",
    "https:///",
    "https://?evil.example",
    "https://#evil.example",
    "//evil.example/",
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://evil.example/",
    "file:///etc/passwd",
    "blob:https://evil.example/1",
    "view-source:https://evil.example/",
    "http\u017f://evil.example/",  # a long s, which is an S in upper case
    "java\nscript:alert(1)",
    "https://ev\til.example/",
    "https://ev\nil.example/",
    "\x01https://evil.example/",
    " https://evil.example/",
    "https://evil.example/ ",
    "https://evil.example/a b",
    "https://evil.example/a\x00",
    "https://evil.example/\x1b]8;;https://good.example\x07",
    "https://evil.example/\x7f",
    "https://evil.example/\x9b31m",
    "https://evil.example/\u202egro.doog",
    "https://\u202emoc.evil.example/",
    "https://evil.example/\u2066a",
    "https://evil.example/a\u00a0b",
    "https://evil.example/\u2028",
    "https://good.exa\u200bmple/",
    "https://good\u00adexample/",
    "https://evil.example/\ud800",
    "http://2130706433/",  # 127.0.0.1, as one number
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://127.1/",
    "http://127.0.0.01/",
    "http://127.0.0.256/",
    "http://1.2.3.4.5/",
    "http://good.example.0x/",
    "http://good.1/",
    "http://1.2.3.4./",
    "https://evil.example./",
    "https://.evil.example/",
    "https://evil..example/",
    "https://-evil.example/",
    "https://evil-.example/",
    f"https://{'a' * 64}.example/",
    f"https://{'.'.join(['a' * 60] * 5)}.example/",
    "https://good.example:99999/",
    "https://good.example:0/",
    "https://good.example:/",
    "https://good.example:080/",
    "https://good.example:80:80/",
    "https://good.example:8\u0660/",
    "https://good.example:+80/",
    "https://good.example;evil.example/",
    "https://good.example,evil.example/",
    "https://good.example|evil.example/",
    "https://good.example<b>/",
    "https://[::1/",
    "https://::1/",
    "https://[::1]evil.example/",
    "https://[fe80::1%25eth0]/",
    "https://[::ffff:1.2.3.4]/",
    "https://[v1.a]/",
    "https://[1::2::3]/",
    "https://ｅｖｉｌ.example/",  # full width: becomes ASCII
    "https://evil。example/",  # another dot
    "https://evil.example／good/",  # a slash of full width
    "https://evil.example⁄good.example/",
    "https://evil.ex℀mple/",  # becomes a/c
    "https://１２７.0.0.1/",
    "https://\u212aelvin.example/",  # the sign of a unit, which is a k in lower case
    "https://faß.example/",  # two standards lead to two hosts
    "https://xn--a.example/",
    "https://xn--.example/",
    "https://xn--abc-.example/",
    "https://xn--\u00e9.example/",
    "https://evil.example/" + "a" * MOST,
]

ODD = {  # accepted, and how the host is shown
    "https://good.example": "good.example",
    "https://good.example/": "good.example",
    "HTTPS://GOOD.Example/Path": "good.example",
    "https://good.example:443/": "good.example",
    "http://good.example:443/": "good.example:443",
    "http://good.example:80": "good.example",
    "http://good.example:8080?a=b": "good.example:8080",
    "https://good.example?x=https://evil.example/": "good.example",
    "https://good.example#@evil.example/": "good.example",
    "https://good.example/@user/https://evil.example": "good.example",
    "https://good.example/a;b,c!$&'()*+=:[]|^`{}\"<>~": "good.example",
    "https://good.example/%5C@evil.example/%00": "good.example",
    "https://good.example/../../b/./c": "good.example",
    "https://good.example/é/漢字/русский": "good.example",
    "https://good.example/שלום": "good.example",
    "https://a_b.good.example/": "a_b.good.example",
    "https://r3---sn-4g5.good.example/": "r3---sn-4g5.good.example",
    "http://localhost/": "localhost",
    "http://intranet:8000/": "intranet:8000",
    "http://127.0.0.1:81/": "127.0.0.1:81",
    "http://192.168.0.255/שלום": "192.168.0.255",
    "http://1.2.3.com/": "1.2.3.com",
    "http://0x7f.com/": "0x7f.com",
    "http://[::1]/": "[::1]",
    "http://[2001:DB8:0:0:0:0:0:1]:8080/": "[2001:db8::1]:8080",
    "http://[1:0:2:3:4:5:6:7]/": "[1:0:2:3:4:5:6:7]",
    "https://bücher.example/": "xn--bcher-kva.example",
    "https://BÜCHER.example/": "xn--bcher-kva.example",
    "https://xn--bcher-kva.example/": "xn--bcher-kva.example",
    "https://XN--BCHER-KVA.example/": "xn--bcher-kva.example",
    "https://xn--strae-oqa.example/": "xn--strae-oqa.example",
    "https://раураl.example/": "xn--l-7sba6dbr.example",  # Cyrillic, but for the last
    "https://例え.テスト/": "xn--r8jz45g.xn--zckzah",
    f"https://good.example.{'a' * 60}.{'b' * 60}.evil.example/": (
        f"good.example.{'a' * 60}.{'b' * 60}.evil.example"
    ),
}


@pytest.mark.parametrize("address", HOSTILE, ids=ascii)
def test_what_can_be_read_in_two_ways_is_no_link(address: str) -> None:
    assert link_of(address) is None
    item = ResultItem(1, address, "Title", "Text", 1.0)
    assert item.link == ItemAnswer.model_validate(item).link == ""
    page = Page(pages.results(common(), QUERY, found(results=(item,))))
    assert not page.all("a", rel="noreferrer")
    (shown,) = page.all("p", class_="id")
    assert len(shown.text) <= 91
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown.text)
    assert "\u202e" not in shown.text


@pytest.mark.parametrize(("address", "host"), ODD.items(), ids=ascii)
def test_the_host_is_shown_first_and_whole(address: str, host: str) -> None:
    link = link_of(address)
    assert link is not None
    assert link.host == host
    assert link.href.startswith((f"https://{host}", f"http://{host}"))
    assert link_of(link.href) == link
    item = ResultItem(1, address, "Title", "Text", 1.0)
    assert item.link == ItemAnswer.model_validate(item).link == link.href
    page = Page(pages.results(common(), QUERY, found(results=(item,))))
    (instance,) = page.all("a", rel="noreferrer")
    assert instance.attributes["href"] == link.href
    assert page.one("bdi", class_="host").text == host
    assert page.one("p", class_="id").text.startswith(host)


def test_no_character_but_letters_and_digits_gets_into_a_host() -> None:
    for code in (*range(0x3400), *range(0xA000, 0xAC00), *range(0xD700, 0x10000)):
        link = link_of(f"https://a{chr(code)}b.example/")
        if link is None or chr(code) in "/?#":
            continue
        assert link.host.isascii()
        labels = link.host.replace(".", "").replace("-", "").replace("_", "")
        assert labels.isalnum(), hex(code)
        if code > 127:
            assert link.host.startswith("xn--"), hex(code)


def test_parts() -> None:
    assert link_of("http://A.example:81/b/c?d#e") == Link(
        "http://a.example:81/b/c?d#e", "a.example:81", "/b/c"
    )


def test_titles_and_texts_do_not_turn_the_page_around() -> None:
    item = ResultItem(1, "https://a.example/", "\u202emoc.doog\x1b[31m", "b\u2066\x00c", 1.0)
    page = Page(pages.results(common(), QUERY, found(results=(item,))))
    assert page.all("h2")[0].text == "moc.doog [31m"
    assert page.one("p", class_="text").text == "b c"
