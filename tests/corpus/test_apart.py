"""The process that reads: it hangs, dies or lies for one file, and the rest goes on."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.corpus.own_files import MBOX

from veil.core.errors import VeilError
from veil.corpus.readers.reader import ReadDocument
from veil.corpus.readers.worker import ReaderProcess

STUB = """
import json, os, sys, time
def tell(**answer): print(json.dumps(answer), flush=True)
NONE = {"title": "", "text": "", "skipped": ""}
def piece(number, **more): tell(**(NONE | more), number=number)
tell(ready=True)
for line in sys.stdin:
    asked = json.loads(line)
    what, first = asked["path"], asked["first"]
    if what == "hangs": time.sleep(1000)
    if what == "dies": os._exit(1)
    if what == "lies": print('{"number": "x"}', flush=True)
    if what == "talks": print("[" * 100000, flush=True)
    if what == "reasons": piece(1, skipped="/etc/passwd")
    if what == "box":
        for number in range(first, 6):
            if number == 3: os._exit(1)
            piece(number, title=str(number))
    if what == "worse": os._exit(1)
    if what == "good": piece(1, title="good")
    tell(end=True)
"""


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[ReaderProcess]:
    with ReaderProcess(tmp_path, 100, (sys.executable, "-c", STUB)) as made:
        yield made


@pytest.mark.parametrize(
    ("path", "reason"),
    [("hangs", "too-slow"), ("dies", "crashed"), ("lies", "crashed"), ("talks", "crashed"),
     ("reasons", "crashed")],
)  # fmt: skip
def test_a_file_that_fails_costs_one_file(apart: ReaderProcess, path: str, reason: str) -> None:
    assert list(apart.read("good", "text")) == [ReadDocument(1, "good")]
    apart.patience = 0.5 if path == "hangs" else 100
    assert list(apart.read(path, "pdf")) == [ReadDocument(1, skipped=reason)]
    apart.patience = 100
    assert list(apart.read("good", "text")) == [ReadDocument(1, "good")]


def test_a_mailbox_goes_on_after_the_message_that_fails(apart: ReaderProcess) -> None:
    found = list(apart.read("box", "mbox"))
    assert [piece.number for piece in found] == [1, 2, 3, 4, 5]
    assert [piece.skipped for piece in found] == ["", "", "crashed", "", ""]


def test_a_mailbox_that_always_fails_is_given_up(apart: ReaderProcess) -> None:
    found = list(apart.read("worse", "mbox"))
    assert [piece.skipped for piece in found] == ["crashed"] * 20 + ["rest"]


def test_a_process_that_cannot_start_is_told(tmp_path: Path) -> None:
    with (
        ReaderProcess(tmp_path, 1.0, (sys.executable, "-c", "raise SystemExit")) as apart,
        pytest.raises(VeilError, match="Cannot start the process"),
    ):
        list(apart.read("x", "text"))


def test_the_real_process_reads_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = "raise SystemExit('a file of the folder was run')"
    for name in ("docx.py", "json.py", "email.py"):
        (tmp_path / name).write_text(trap)
    (tmp_path / "box").write_bytes(MBOX)
    monkeypatch.chdir(tmp_path)
    with ReaderProcess(tmp_path) as apart:
        found = list(apart.read("box", "mbox"))
        assert [piece.skipped for piece in found] == ["", "damaged", ""]
        assert list(apart.read("none.txt", "text")) == [ReadDocument(0, skipped="unreadable")]
        assert list(apart.read("../x", "text")) == [ReadDocument(0, skipped="unreadable")]
        process = apart._process
    assert process is not None
    assert process.returncode is not None


TRY = """
import sys
from veil.corpus.readers import worker
worker._confine()
try:
    {what}
except PermissionError:
    sys.exit(7)
"""


@pytest.mark.parametrize(
    "what",
    [
        "import socket; socket.socket().connect(('127.0.0.1', 9))",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "open('made', 'w')",
        "import os; os.mkdir('made')",
        "import os; os.remove('kept')",
        "import os; os.rename('kept', 'made')",
    ],
)
def test_a_reader_cannot_fetch_start_or_write(tmp_path: Path, what: str) -> None:
    (tmp_path / "kept").touch()
    done = subprocess.run([sys.executable, "-c", TRY.format(what=what)], cwd=tmp_path, check=False)
    assert done.returncode == 7
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_reader_has_so_much_memory(tmp_path: Path) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux bounds the memory of a process")
    what = "bytearray(3 * 2**30)"
    code = TRY.format(what=what).replace("PermissionError", "MemoryError")
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 7
