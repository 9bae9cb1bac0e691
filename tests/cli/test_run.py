"""The frame of every command: help, exit codes, and errors that tell no secrets."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest
from tests.cli.conftest import CANARY, Veil

from veil import __version__
from veil.cli import run
from veil.text import files

MINE = f"my {CANARY}"


def arguments(vectors: str, *texts: str) -> list[str]:
    return ["protect", "cmp", "--epsilon", "1", "--vectors", vectors, *texts]


def shell(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from veil.cli import main; main()", *words],
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
        env=dict(os.environ, PYTHONWARNINGS="error"),
    )


def raiser(error: BaseException) -> object:
    def protect_stream(texts: Iterator[str], *_: object, **__: object) -> NoReturn:
        next(texts)
        raise error

    return protect_stream


def test_internal_error_tells_no_secret(
    veil: Veil, vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "protect_stream", raiser(RuntimeError(f"bad text: {CANARY}")))
    result = veil(*arguments(vectors, MINE, "-o", str(tmp_path / "out.csv")))
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("veil: internal error (RuntimeError at test_run.py:")
    assert result.err.count("\n") == 1
    assert CANARY not in result.err
    assert not list(tmp_path.glob("*out*"))


def test_debug_shows_the_error(veil: Veil, vectors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "protect_stream", raiser(RuntimeError(CANARY)))
    monkeypatch.setenv("VEIL_DEBUG", "1")
    with pytest.raises(RuntimeError, match=CANARY):
        veil(*arguments(vectors, MINE))


def test_interrupt_leaves_no_file(
    veil: Veil, vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "protect_stream", raiser(KeyboardInterrupt()))
    result = veil(*arguments(vectors, MINE, "-o", str(tmp_path / "out.csv")))
    assert (result.code, result.out) == (130, "")
    assert result.err.strip() == "veil: stopped; no file was written."
    assert not list(tmp_path.glob("*out*"))


def test_error_of_the_system_is_one_sentence(
    veil: Veil, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OSError(28, "No space left on device", f"/tmp/{CANARY}")  # noqa: S108
    monkeypatch.setattr(files, "protect_stream", raiser(error))
    message = veil(*arguments(vectors, MINE)).refused()
    assert "No space left on device" in message


@pytest.mark.parametrize("command", [[], ["protect"], ["explain"]])
def test_without_arguments_help_is_shown(veil: Veil, command: list[str]) -> None:
    result = veil(*command)
    assert result.code == 2
    assert "Usage: veil" in result.out + result.err


@pytest.mark.parametrize(
    "command",
    [
        [], ["protect"], ["protect", "cmp"], ["explain"], ["explain", "tem"], ["mechanisms"],
        ["vectors"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(veil: Veil, command: list[str], flag: str) -> None:
    result = veil(*command, flag)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: {' '.join(['veil', *command])}")


def test_help_lists_every_parameter(veil: Veil) -> None:
    shown = veil("protect", "vickrey", "-h").out
    for flag in ("--epsilon FLOAT >0", "--t FLOAT >=0 <=1", "--noise cmp|mahalanobis", "--lam"):
        assert flag in shown
    assert "--unit-direction / --no-unit-direction" in shown


def test_version_and_unknown_command(veil: Veil) -> None:
    assert veil("--version").out.strip() == f"veil, version {__version__}"
    assert "Unknown command" in veil("protct").refused()


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        (["protct"], "protect"),
        (["Protect"], "protect"),
        (["prot"], "protect"),
        (["ledger", "exprot"], "export"),
        (["gate", "tyr"], "try"),
        (["--versoin"], "--version"),
        (["protect", "cmp", "--eps", "5", "a cat"], "--epsilon"),
        (["protect", "cmp", "--eps=5", "a cat"], "--epsilon"),
        (["protect", "cmp", "-epsilon", "5", "a cat"], "--epsilon"),
        (["protect", "cmp", "--with_originals", "a cat"], "--with-originals"),
        (["search", "--engin", "bm25", "a cat"], "--engine"),
        (["audit", "--demoo"], "--demo"),
    ],
)
def test_near_misses_are_suggested(veil: Veil, typed: list[str], near: str) -> None:
    assert veil(*typed).refused().endswith(f" Did you mean {near}?\n")


def test_what_is_nowhere_near_is_not_suggested(veil: Veil) -> None:
    for typed in (["xanthippe"], ["ledger", "xanthippe"], ["audit", "--xanthippe"]):
        assert "Did you mean" not in veil(*typed).refused()


def test_program_from_the_shell(vectors: str) -> None:
    done = shell(*arguments(vectors, "--epsilon", "1e6", "-"), stdin=b"The cat\n")
    assert (done.returncode, done.stdout) == (0, b"The cat\n")
    assert b"1 text, 2 protected words x 1 variant" in done.stderr


def test_refusal_from_the_shell(vectors: str) -> None:
    done = shell(*arguments(vectors, "-"), stdin=CANARY.encode() + b"\xff\n")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"veil: standard input is not UTF-8 text near its beginning. To fix this, set --encoding,"
        b" or convert it.\n"
    )


def test_closed_pipe_is_quiet(vectors: str) -> None:
    many = [sys.executable, "-c", "from veil.cli import main; main()"]
    words = [*many, *arguments(vectors, "--size", "100000", "cat dog")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        shown = process.stderr.read()
        process.wait(60)
    assert process.returncode == 1  # click's own answer to a closed pipe
    assert shown == b""


@pytest.mark.parametrize(
    "arguments",
    [
        ["I have xanthippe"],
        ["--xanthippe-positive"],
        ["protect", "xanthippe"],
        ["protect", "cmp", "--size", "xanthippe", "cat"],
        ["protect", "cmp", "--xanthippe", "cat"],
        ["protect", "cmp", "--epsilon", "xanthippe", "cat"],
        ["protect", "vickrey", "--epsilon", "1", "--noise", "my xanthippe", "cat"],
        ["protect", "cmp", "--unknown", "xanthippe", "cat"],
        ["mechanisms", "--json", "--xanthippe"],
    ],
)
def test_nothing_that_was_typed_is_quoted(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert "xanthippe" not in printed.err + printed.out
    assert printed.err.startswith("veil: ")
    assert printed.err.count("\n") == 1


def wait_until_written(process: int, folder: Path) -> None:
    """Wait until a process has written something to a file of a folder, with a name or without."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for link in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                if str(link.readlink()).startswith(str(folder)) and link.stat().st_size:
                    return
        time.sleep(0.05)
    pytest.fail("nothing was written")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_killed_release_leaves_no_original(tmp_path: Path, workers: str) -> None:
    """Nothing can be caught, and still no file holds a text: in the folder or for scratch."""
    (tmp_path / "v.txt").write_text("cat 0 1\ndog 1 0\n")
    (tmp_path / "out").mkdir()
    command = [sys.executable, "-c", "from veil.cli import main; main()", "protect", "cmp"]
    command += ["--epsilon", "1", "--vectors", "v.txt", "--workers", workers, "--with-originals"]
    with subprocess.Popen(
        [*command, "-", "-o", "out/o.csv"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        env=dict(os.environ, TMPDIR=str(tmp_path / "out")),
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(f"cat {CANARY}\n".encode() * 20_000)
        process.stdin.flush()
        wait_until_written(process.pid, tmp_path / "out")
        process.kill()
        process.wait()
        process.stdin.close()
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_file_behind(
    tmp_path: Path, workers: str, sign: signal.Signals
) -> None:
    (tmp_path / "v.txt").write_text("".join(f"w{i} {i % 97} {i % 89}\n" for i in range(3000)))
    (tmp_path / "in.txt").write_text("w1 w2 w3 w4 w5 w6 w7 w8\n" * 300_000)
    (tmp_path / "out").mkdir()
    command = [sys.executable, "-c", "from veil.cli import main; main()", "protect", "cmp"]
    command += ["--epsilon", "1", "--size", "5", "--vectors", "v.txt", "--workers", workers]
    process = subprocess.Popen(
        [*command, "in.txt", "-o", "out/o.csv"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_until_written(process.pid, tmp_path / "out")
    process.send_signal(sign)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert b"stopped; no file was written" in err
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_standard_output_is_one_sentence(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / "v.txt").write_text("cat 0 1\ndog 1 0\n")
    command = [sys.executable, "-c", "from veil.cli import main; main()", "protect", "cmp"]
    command += ["--epsilon", "1", "--vectors", "v.txt", "a cat"]
    with full.open("w") as out:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


TWICE = """
import atexit, os, sys, time
import veil.cli

def work(*_, **__):
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print({where!r} == "cleanup" and "again" or "", flush=True)
        time.sleep(1 if {where!r} == "cleanup" else 0)

def late():
    print("again", flush=True)
    time.sleep(2)

veil.cli.veil.main = work
if {where!r} == "exit":
    atexit.register(late)
if {where!r} == "end":  # the last that runs, when handlers in Python are gone

    class Late:
        def __del__(self, write=os.write, sleep=time.sleep):
            write(1, b"again\\n")
            sleep(2)

    sys.late = Late()
if {where!r} == "message":
    def echo(*_, **__):
        print("again", flush=True)
        time.sleep(1)
    veil.cli.click.echo = echo
sys.argv = ["veil"]
veil.cli.main()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("where", ["cleanup", "message", "exit", "end"])
def test_a_second_stop_ends_with_the_same_code(where: str) -> None:
    """Whenever it comes: while work is tidied up, the message is written, or the program ends."""
    with subprocess.Popen(
        [sys.executable, "-c", TWICE.format(where=where)], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for word in ("ready", "again"):
            while running.stdout.readline().strip() != word:
                assert running.poll() is None
            running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 130
