"""The example of the documentation runs, and gives the figures that it prints."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Veil
from tests.cli.conftest import surroundings as surroundings
from tests.cli.conftest import veil as veil

from veil.dpia.assessment import assess

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "impact-assessment.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example_gives_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, veil: Veil
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[0], "page", "exec"), {"__name__": "page"})  # noqa: S102
    for line in blocks("sh")[0].splitlines():
        more = ("--workers", "0") if " plane " in line else ()
        assert veil(*shlex.split(line)[1:], *more).code == 0
    found = assess("assess.toml")
    assert found.largest is not None
    told = re.search(r"about ([\d.]+) % of these people; .* about ([\d.]+) %", PAGE)
    assert told is not None
    assert f"{found.largest[1].score:.1%}" == f"{told[2]}%"
    assert f"{found.sources[0].risks[0].score:.0%}" == f"{told[1]}%"
    assert f"{len(found.gaps)} points are not stated" in PAGE
    assert "a likelihood of 2 of 4" in " ".join(PAGE.split())
    assert "2 of 4" in (tmp_path / "dpia.html").read_text()
    answers = (tmp_path / "assess.toml").read_text().replace("[[studies]]", "[[old]]")
    table = blocks("toml")[0]
    head, _, tail = answers.partition("[people]")
    keys, _, release = table.partition("[[release]]")
    tail = tail.partition("[[old]]")[0]
    (tmp_path / "b.toml").write_text(f"{head}{keys}[people]{tail}[[release]]{release}")
    again = assess("b.toml").largest
    assert again is not None
    assert again[1].score == pytest.approx(found.largest[1].score)
