"""``veil gate``: an example that loads, and what rules make of a query."""

import io
from pathlib import Path

import pytest

from veil.cli import run

RULES = """
[[rule]]
name = "numbers"
kinds = ["number"]
action = "refuse"

[[rule]]
name = "weather"
words = ["weather"]
action = "pass"
"""


@pytest.fixture
def rules(tmp_path: Path) -> str:
    (tmp_path / "gate.toml").write_text(RULES)
    return str(tmp_path / "gate.toml")


def test_the_example_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", "example"]) == 0
    assert "[[rule]]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("query", "action"),
    [("weather", "pass"), ("call 5551234", "refuse"), ("quokkapox weather", "obfuscate")],
)
def test_what_becomes_of_a_query(
    rules: str, query: str, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", "try", rules, query]) == 0
    out = capsys.readouterr().out
    assert out.startswith(action)
    assert "quokkapox" not in out
    assert "5551234" not in out


def test_a_query_can_come_from_standard_input(
    rules: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"weather\n")))
    assert run(["gate", "try", rules, "-"]) == 0
    assert capsys.readouterr().out.startswith("pass")


@pytest.mark.parametrize("arguments", [["missing.toml", "x"], ["{rules}", ""]])
def test_bad_input_is_one_sentence(
    rules: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", "try", *(one.format(rules=rules) for one in arguments)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("veil: ")
    assert err.count("\n") == 1
