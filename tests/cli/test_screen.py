"""What goes to a file is plain; what goes to a terminal may move and have colours."""

import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.cli.conftest import CANARY, Veil

from veil.cli import terminal
from veil.cli.terminal import line, plain_progress

COMMAND = [sys.executable, "-c", "from veil.cli import main; main()"]


def test_a_plain_line_now_and_then() -> None:
    lines: list[str] = []
    enough = threading.Event()

    def write(told: str) -> None:
        lines.append(told)
        if sum("protecting" in one for one in lines) >= 3:  # some come before it is reported
            enough.set()

    with plain_progress(write, every=0.001) as report:
        report("protecting: 12 texts", 1, 4)
        assert enough.wait(60)  # though nothing more is reported
    assert any(re.fullmatch(r"veil: protecting: 12 texts, 25 % \(\d+ s\)", told) for told in lines)
    count = len(lines)
    with plain_progress(write, every=3600):
        pass  # ends at once
    assert len(lines) == count


def test_the_line() -> None:
    assert line("reading", 5, 0, 12.3) == "veil: reading (12 s)"
    assert line("reading", 5, 4, 12.3) == "veil: reading, 100 % (12 s)"


def test_work_that_is_reported_nowhere_shows_nothing_when_it_is_short(
    veil: Veil, vectors: str
) -> None:
    result = veil("protect", "cmp", "--epsilon", 5, "--vectors", vectors, "a cat")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["mechanisms"],
        ["engines"],
        ["ledger", "show"],
        ["explain", "santext(epsilon=5)", "cat", "dog"],
        ["protect", "cmp(epsilon=100000)", "the cat", "--with-originals"],
        ["protect", "cmp(epsilon=5)", "no.csv"],
    ],
)
@pytest.mark.parametrize("force", ["FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"])
def test_no_escape_code_goes_into_a_file(
    veil: Veil, vectors: str, monkeypatch: pytest.MonkeyPatch, command: list[str], force: str
) -> None:
    monkeypatch.setenv(force, "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    extra = ["--vectors", vectors] if command[0] in ("protect", "explain") else []
    result = veil(*command, *extra)
    assert "\x1b" not in result.out + result.err
    assert "came out equal" not in result.err  # a secret, for the person at a terminal alone


def test_nothing_is_cut_where_there_is_no_terminal(
    veil: Veil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    console = terminal.stdout()
    assert (console.is_terminal, console.width) == (False, 500)
    result = veil("mechanisms", "santext")
    assert "\u2026" not in result.out


def test_results_reach_a_file_though_a_bar_is_on_the_terminal(tmp_path: Path) -> None:
    """A bar must not draw what is written to stdout onto the terminal instead."""
    (tmp_path / "v.txt").write_text("cat 0 1\ndog 1 0\n")
    (tmp_path / "q.csv").write_text(f"text\ncat {CANARY}\n")
    reader, screen = pty.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, "protect", "cmp(epsilon=1e6)", "--vectors", "v.txt", "q.csv"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=screen,
            env=dict(os.environ, TERM="xterm", VEIL_CACHE=str(tmp_path)),
            timeout=60,
            check=True,
        )
        shown = os.read(reader, 100_000)
    finally:
        os.close(reader)
        os.close(screen)
    assert re.fullmatch(rb"cat (cat|dog)\n", done.stdout)
    assert b"1 text, 2 protected words" in shown
