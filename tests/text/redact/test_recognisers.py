"""What has the shape of personal data is found, and what only looks like it is not."""

import csv
import gzip
import json

import pytest
from benchmarks.redaction import spelling_rates
from benchmarks.spellings import CONTEXTS, SPELLINGS
from tests.conftest import SHARED

from veil.text.redact.redactor import Patterns

PATTERNS = Patterns()


def found(text: str) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in PATTERNS.spans(text)]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("EMAIL", "ada.lovelace+x@example.co.uk"),
        ("EMAIL", "root@localhost"),
        ("IBAN", "DE89 3704 0044 0532 0130 00"),
        ("IBAN", "GB82WEST12345698765432"),
        ("IBAN", "IT60 X054 2811 1010 0000 0123 456"),
        ("CARD", "4111 1111 1111 1111"),
        ("CARD", "3782-822463-10005"),
        ("IP", "192.0.2.255"),
        ("IP", "2001:db8:0:1::8a2e:370:7334"),
        ("IP", "::ffff:192.0.2.1"),
        ("ID", "078-05-1120"),
        ("ID", "AB 12 34 56 C"),
        ("ID", "RSSMRA85T10A562S"),
        ("ID", "12345678Z"),
        ("ID", "X1234567L"),
        ("ID", "2 55 08 14 168 025 38"),
        ("ID", "86095742719"),
        ("ID", "44051401359"),
        ("ID", "529.982.247-25"),
        ("DATE", "1984-05-03"),
        ("DATE", "3.5.1984"),
        ("DATE", "5/13/84"),
        ("DATE", "May 3rd, 1984"),
        ("DATE", "3 Sept 1984"),
        ("PHONE", "+39 049 827 1234"),
        ("PHONE", "(555) 010-9999"),
        ("PHONE", "0049 30 901820"),
        ("PHONE", "06123 45678"),
        ("PHONE", "0612345678"),
        ("PHONE", "06 12 34 56 78"),
        ("PHONE", "+39\u00a0049\u202f827\u20111234"),  # as documents are set in print
        ("CARD", "4111\u00a01111\u00a01111\u00a01111"),
        ("CARD", "\uff14111\u200b11111111\u00ad1111"),  # with characters that nobody sees
        ("IBAN", "NO93 8601 1117 947"),
        ("ID", "12.345.678-Z"),
        ("EMAIL", "o'brien@example.org"),
        ("IP", "192.168.001.010"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "write {}, please", "({})", "is {}."])
def test_it_is_found_whole(kind: str, data: str, around: str) -> None:
    assert found(around.format(data)) == [(kind, data)]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("4111 1111 1111 1111 12/27 cvc", [("CARD", "4111 1111 1111 1111")]),
        ("4111 1111 1111 1111 123", [("CARD", "4111 1111 1111 1111")]),
        ("5 4442 1985 5132 3892", [("CARD", "4442 1985 5132 3892")]),  # 5 4442 1985 5132, too
        ("nr.4111111111111111", [("CARD", "4111111111111111")]),
        ("0612345678 12 times", [("PHONE", "0612345678")]),
        ("Tel.+390498271234", [("PHONE", "+390498271234")]),
        ("+39 049 827 1234 3.5.1984", [("PHONE", "+39 049 827 1234"), ("DATE", "3.5.1984")]),
        ("555-010-9999 555-010-8888", [("PHONE", "555-010-9999"), ("PHONE", "555-010-8888")]),
        ("555-010-9999/555-010-8888", [("PHONE", "555-010-9999"), ("PHONE", "555-010-8888")]),
        ("555 123 4567 3.5.1984", [("PHONE", "555 123 4567"), ("DATE", "3.5.1984")]),
        ("at 2024-02-29T10:30:00Z", [("DATE", "2024-02-29")]),
        ("ip:2001:db8::1", [("IP", "2001:db8::1")]),
        ("IBANDE89370400440532013000", [("IBAN", "DE89370400440532013000")]),
        ("NO93 8601 1117 947 by Monday", [("IBAN", "NO93 8601 1117 947")]),
        ("2001:db8::1.53 > fe80::1.500", [("IP", "2001:db8::1"), ("IP", "fe80::1")]),
        ("::ffff:1.2.3.4.53 x", [("IP", "::ffff:1.2.3.4")]),
        ("Mob+1 800 555 0199", [("PHONE", "+1 800 555 0199")]),
        ("tel(555) 010-9999", [("PHONE", "(555) 010-9999")]),
        ("10,+39 049 827 1234", [("PHONE", "+39 049 827 1234")]),
        ("DNI 12345678Z\u20131980", [("ID", "12345678Z")]),
        ("in 1980\u201412345678Z", [("ID", "12345678Z")]),
        ("1,234 - 555.123.4567|", [("PHONE", "555.123.4567")]),
        ("1 800 555 0199/0612345678", [("PHONE", "1 800 555 0199"), ("PHONE", "0612345678")]),
        ("020 7946 0958 - 1 800 555 0199", [("PHONE", "020 7946 0958 - 1 800 555 0199")]),
    ],
)
def test_what_stands_beside_it_hides_nothing(text: str, hidden: list[tuple[str, str]]) -> None:
    seen = found(text)
    assert [kind for kind, _ in seen] == [kind for kind, _ in hidden]
    assert all(data in more for (_, data), (_, more) in zip(hidden, seen, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "room 4111 of 1984",
        "4111 1111 1111 1112",  # not by Luhn
        "DE89370400440532013002",  # not by 97
        "12345678A",  # another letter
        "RSSMRA85T10A562T",
        "256.1.1.1 and 1.2.3",
        "at 10:30:15",
        "2024-13-45",
        "from 1995-1999",
        "1,234,567 or 12 345 678 people",
        "3.14159265358979",
        "ISO 9001:2015",
        "pages 12\u201315, 1995\u20131999, 1\u00a0234\u00a0567 people",
    ],
)
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text", ["", "a" * 100_000, "1 " * 20_000, "+" * 50_000, "1-" * 20_000, "x@" * 20_000]
)
def test_long_texts_end(text: str) -> None:
    PATTERNS.spans(text)


def test_two_kinds_in_one_place_are_one_and_hide_all_of_it() -> None:
    text = "see 4111 1111 1111 1111@example.org"
    (span,) = PATTERNS.spans(text)
    assert span.kind == "EMAIL"
    assert text[span.start : span.end] == "4111 1111 1111 1111@example.org"


# What may be missed of a kind, in spellings: the docs print the rates
_MISSED = {"EMAIL": 3, "IBAN": 1, "ID": 1, "CARD": 1, "IP": 0, "DATE": 3, "PHONE": 3}


def test_nearly_all_spellings_are_hidden_in_every_context() -> None:
    rates = spelling_rates()
    assert set(rates) == set(PATTERNS.kinds)
    for kind, (whole, named, total) in rates.items():
        assert total == len(SPELLINGS[kind]) * len(CONTEXTS)
        assert total - whole <= _MISSED[kind] * len(CONTEXTS), kind
        assert named >= 0.9 * whole, kind
    assert sum(whole for whole, _, _ in rates.values()) >= 0.95 * 2_727


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("EMAIL", '"ada lovelace"@example.org'),
        ("EMAIL", "ada@[192.168.0.1]"),
        ("CARD", "4111_1111_1111_1111"),
        ("ID", "AB-12-34-56-C"),
        ("ID", "RSS MRA 85T10 A562S"),
        ("ID", "9434765919"),
        ("ID", "219099999"),
        ("PHONE", "2125550123"),
        ("PHONE", "3331234567"),
        ("DATE", "19900228"),
        ("DATE", "28 02 1990"),
        ("DATE", "\u2461\u2467/\u24ea\u2461/1990"),
    ],
)
@pytest.mark.parametrize("around", CONTEXTS.values(), ids=list(CONTEXTS))
def test_what_was_missed_is_found(kind: str, data: str, around: str) -> None:
    ((seen, hidden),) = found(around.format(data))
    assert (seen, data in hidden) == (kind, True)  # and at most a number next to it


@pytest.mark.parametrize(
    "text", ["pay4111111111111111", "4111111111111111x", "x4111111111111111x"]
)
def test_a_letter_hides_no_card(text: str) -> None:
    assert found(text) == [("CARD", "4111111111111111")]


@pytest.mark.parametrize(
    "text",
    [
        ".@ada says hello!@bob",
        "look at the dot product of 0.123456789",
        "in 25 patients with nonalcoholic steatosis, of 181 cases; HT29 and breast cancer",
        "OR 1.048 (95% CI 1.004-1.094), 0.051 0.029 p.p.m., 1·22-5·14",
        "J Lipid Res. 45: 1583-1593, John Wesley (1703-1791)",
        "240 8 12 3 0.2 16 25",
        "100000000 people, 12345678 cells, version v1.2.3.4",
        "in 2010 12 patients, 19901301",
    ],
)
def test_ordinary_texts_are_left(text: str) -> None:
    assert found(text) == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_ordinary_collections_are_left() -> None:
    with gzip.open(SHARED / "sentiment/tweets.csv.gz", "rt") as file:
        tweets = [row["text"] for row in csv.DictReader(file)][:3_000]
    with (SHARED / "collections/nfcorpus/docs.jsonl").open() as lines:
        abstracts = [str(json.loads(line)["text"]) for line in lines][:1_500]
    for texts, most in ((tweets, 0.012), (abstracts, 0.032)):
        assert sum(bool(found(text)) for text in texts) <= most * len(texts)
