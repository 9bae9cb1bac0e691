"""``veil audit`` notes where its report lies, and is done even if that fails."""

from importlib import import_module
from pathlib import Path

import pytest

from veil.cli import run
from veil.proxy.folder import noted_audit
from veil.studies.results import Results

STUDY = """
collection = "icd10cm"
attackers = []

[[mechanism]]
spec = "cmp"
parameter = "epsilon"
values = [1]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in with a study, whose sweep finds nothing and takes no time."""
    monkeypatch.setattr(
        import_module("veil.studies.sweep"), "sweep", lambda *_, **__: Results("x", ())
    )
    monkeypatch.setenv("VEIL_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_an_audit_is_noted_with_its_whole_path(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "made").mkdir()
    assert run(["audit", "study.toml", "--out", "made/here"]) == 0
    assert noted_audit() == folder / "made" / "here"
    assert "veil serve" not in capsys.readouterr().err
    assert run(["audit", "study.toml"]) == 0
    assert noted_audit() == folder / "veil-report"


def test_an_audit_that_cannot_be_noted_is_done_all_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "data").touch()  # a file where the folder should be
    assert run(["audit", "study.toml"]) == 0
    assert (folder / "veil-report" / "results.csv").is_file()
    messages = [line for line in capsys.readouterr().err.splitlines() if "veil serve" in line]
    assert len(messages) == 1
    assert messages[0].startswith("veil: 'veil serve' will not find this audit automatically: ")


def test_an_audit_that_fails_is_not_noted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> Results:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("veil.studies.sweep"), "sweep", stopped)
    assert run(["audit", "study.toml"]) == 130
    assert noted_audit() is None
