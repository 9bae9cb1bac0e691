"""The frame of every command: help, exit codes, and errors that tell no secrets."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from tests.cli.conftest import CANARY, Veil

from veil import __version__, api


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
    monkeypatch.setattr(api, "protect_stream", raiser(RuntimeError(f"bad text: {CANARY}")))
    result = veil(*arguments(vectors, CANARY, "-o", str(tmp_path / "out.csv")))
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("veil: internal error (RuntimeError at test_run.py:")
    assert result.err.count("\n") == 1
    assert CANARY not in result.err
    assert not list(tmp_path.glob("*out*"))


def test_debug_shows_the_error(veil: Veil, vectors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "protect_stream", raiser(RuntimeError(CANARY)))
    monkeypatch.setenv("VEIL_DEBUG", "1")
    with pytest.raises(RuntimeError, match=CANARY):
        veil(*arguments(vectors, CANARY))


def test_interrupt_leaves_no_file(
    veil: Veil, vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "protect_stream", raiser(KeyboardInterrupt()))
    result = veil(*arguments(vectors, CANARY, "-o", str(tmp_path / "out.csv")))
    assert (result.code, result.out) == (130, "")
    assert result.err.strip() == "veil: stopped; no file was written."
    assert not list(tmp_path.glob("*out*"))


def test_error_of_the_system_is_one_sentence(
    veil: Veil, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OSError(28, "No space left on device", f"/tmp/{CANARY}")  # noqa: S108
    monkeypatch.setattr(api, "protect_stream", raiser(error))
    message = veil(*arguments(vectors, CANARY)).refused()
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
    assert "No such command 'protct'" in veil("protct").refused()


def test_program_from_the_shell(vectors: str) -> None:
    done = shell(*arguments(vectors, "--epsilon", "1e6", "-"), stdin=b"The cat\n")
    assert (done.returncode, done.stdout) == (0, b"The cat\n")
    assert b"1 text, 2 protected words x 1 variant" in done.stderr


def test_refusal_from_the_shell(vectors: str) -> None:
    done = shell(*arguments(vectors, "-"), stdin=CANARY.encode() + b"\xff\n")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"veil: standard input is not UTF-8 text after row 0; convert it, or check its format.\n"
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
