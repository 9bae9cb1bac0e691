"""The templates: everything is escaped, no value is left out, and one place trusts HTML."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from tests.web.sample_pages import common

from veil.web.pages import render, shell

FOLDER = Path(str(files("veil.web") / "templates"))
NAMES = sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_no_template_turns_escaping_off(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe|autoescape|Markup|__html__|forceescape", text)
    assert not re.search(r"<script(?! src=\"/static/)|<style|\son\w+=|style=|javascript:", text)


def test_html_is_trusted_at_one_place() -> None:
    sources = [path for path in FOLDER.parent.rglob("*.py") if path.name != "charts.py"]
    assert [path.name for path in sources if "Markup(" in path.read_text("utf-8")] == ["shell.py"]
    assert Path(shell.__file__).read_text("utf-8").count("Markup(") == 1
    calls = {
        path.name: len(re.findall(r"\btrusted\(", path.read_text("utf-8"))) for path in sources
    }
    assert {name: count for name, count in calls.items() if count} == {"home.py": 1, "shell.py": 2}


def test_a_value_that_a_view_forgot_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("places.html", {"common": common()})


def test_a_text_is_escaped_also_as_an_attribute() -> None:
    word = "\"'><script>"
    html = render("places.html", {"common": common(), "mechanisms": [word]})
    assert html.count("&#34;&#39;&gt;&lt;script&gt;") == 2
    assert word not in html
