"""Nothing that a person or a table of results says is read as markup."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dpia.case import QUESTIONS, RISK, ROWS, STUDY, full, study, written

from veil.dpia.document import escape

EVIL = '</p><script>alert(1)</script><img src=x onerror="a()">'
MARKS = "| a | [x](http://evil.example) ![i](y) `code` *b* __c__ # h www.evil.example a@b.example"
TURNED = "\u202eabc\x1b[31m"


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.keys: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.keys |= {key for key, _ in attrs}


def elements(text: str) -> _Elements:
    found = _Elements()
    found.feed(text)
    return found


def test_nothing_becomes_markup(tmp_path: Path) -> None:
    clean = full(tmp_path)
    usual = elements(written(clean, tmp_path)["html"])
    rows = tuple(replace(row, data=EVIL + MARKS, attacker=EVIL) for row in ROWS)
    odd = replace(rows[1], spec=EVIL, mechanism=EVIL, measure=EVIL, score=0.5)
    facts = (("command", EVIL + MARKS), ("seed", EVIL), ("veil", EVIL))
    found = replace(STUDY, name=EVIL, rows=(*rows, odd), facts=facts, notes=(EVIL + MARKS,))
    keys = study(tmp_path, found, "evil") | dict.fromkeys(QUESTIONS, EVIL + MARKS + TURNED)
    keys |= {"people": {"author": EVIL}, "measures": [{"title": EVIL, "content": MARKS}]}
    keys["risks"] = {"access": dict.fromkeys(("why", "impacts", "threats", "sources"), EVIL)}
    made = written(keys, tmp_path)
    seen = elements(made["html"])
    assert seen.names <= usual.names | {"mark"}
    assert seen.keys <= usual.keys
    assert html.escape(EVIL) in made["html"]
    assert "<script" not in made["md"]
    assert "<img" not in made["md"]
    assert not re.search(r"(?<!\\)\]\(|(?<!\\)`|http://|www\.e|[^\\]@", made["md"])
    document = json.loads(made["json"])
    for one in document["answers"]:
        assert elements(one["data"]["text"]).names <= {"p"}
    for one in document["measures"]:
        assert elements(one["content"]).names <= {"p"}
    assert "\u202e" not in made["html"] + made["md"] + made["json"].replace("\\u202e", "\u202e")
    assert "\x1b" not in made["html"] + made["md"]


def test_a_table_keeps_its_columns(tmp_path: Path) -> None:
    rows = (replace(RISK, data="a|b\n| c", attacker="d|e"),)
    text = written(study(tmp_path, replace(STUDY, rows=rows)), tmp_path)["md"]
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_an_escaped_text_is_one_line_that_begins_nothing(text: str) -> None:
    line = escape(text)
    assert "\n" not in line
    assert not re.match(r"[-+=>#|`~*]|\d+[.)]", line)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]|]", line)
    assert "<" not in line
