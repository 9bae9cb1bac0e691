"""Small vectors on disk, and a way to run the command line in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from veil.cli import run, terminal

CANARY = "xanthippe"
WORDS = (
    "the a has and cat dog flu cancer hiv paris london bank money doctor mad b[/b] r[red]".split()
)


@dataclass(frozen=True)
class Result:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def refused(self) -> str:
        """Check that it was refused in one sentence that quotes no text; return the sentence."""
        assert self.code == 2
        assert self.out == ""
        assert self.err.startswith("veil: ")
        assert self.err.endswith((".\n", "?\n"))
        assert self.err.count("\n") == 1
        assert CANARY not in self.err.lower()
        return self.err


Veil = Callable[..., Result]


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VEIL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(terminal, "EVERY", 1e6)  # no line of progress, however slow the machine
    for name in ("VEIL_DEBUG", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    """A GloVe text file of a few words."""
    rng = np.random.default_rng(5)
    folder = tmp_path / "vectors"
    folder.mkdir()
    lines = [
        " ".join([word, *(f"{number:.4f}" for number in rng.normal(size=4))]) for word in WORDS
    ]
    (folder / "v.txt").write_text("\n".join(lines) + "\n")
    return str(folder / "v.txt")


@pytest.fixture
def veil(capsys: pytest.CaptureFixture[str]) -> Veil:
    def call(*arguments: object) -> Result:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call
