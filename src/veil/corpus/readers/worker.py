"""Read files in a separate process, so that a hang or crash costs one file, not the run.

``python -P -m veil.corpus.readers.worker FOLDER`` reads requests for files in the folder as lines
of JSON, and answers with lines of JSON. It may only open files for reading: an audit hook refuses
connections, programs and writes, even from libraries. Its memory is limited if the system supports
it. The parent process limits its time.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from veil.core.errors import VeilError
from veil.corpus.listing import open_inside
from veil.corpus.readers import READERS
from veil.corpus.readers.reader import REASONS, Read, ReadDocument, SkipError

PATIENCE = 60.0  # seconds for the next document
_START = 120.0  # seconds for the process to begin
_ANSWER = 64 * 2**20  # maximum bytes of an answer
_RESTARTS = 20  # per mailbox
_COMMAND = (
    sys.executable,
    "-P",
    "-m",
    "veil.corpus.readers.worker",
)  # -P: no imports from this folder


class ReaderProcess:
    """Reads the files of a folder in a process that starts on first use."""

    def __init__(
        self, root: Path, patience: float = PATIENCE, command: Sequence[str] = _COMMAND
    ) -> None:
        self.patience = patience
        self._root, self._command = root, command
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[bytes] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def read(self, path: str, kind: str) -> Iterator[ReadDocument]:
        """Yield the documents of a file, and the reasons for skipped ones.

        If the process fails within a mailbox, reading continues after that message.
        """
        first = 1
        for _ in range(_RESTARTS):
            self._start()
            self._ask({"path": path, "kind": kind, "first": first})
            try:
                while (answer := self._answer(self.patience)) is not None:
                    first = max(first, answer.number + 1)  # 0 is the whole file
                    yield answer
            except _FailedError as failed:
                self._end()
                yield ReadDocument(first, skipped=failed.reason)
                if kind == "mbox":
                    first += 1
                    continue
            return
        yield ReadDocument(0, skipped="rest")

    def _start(self) -> None:
        """Start the process unless it is running, or raise `VeilError`."""
        if self._process is not None and self._process.poll() is None:
            return
        self._end()
        self._lines = queue.Queue()
        self._process = subprocess.Popen(  # noqa: S603 - fixed words, no shell
            [*self._command, str(self._root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a library may quote a file there
        )
        threading.Thread(target=_pump, args=(self._process, self._lines), daemon=True).start()
        try:
            self._answer(_START)
        except _FailedError:
            self._end()
            raise VeilError(
                "Cannot start the process that reads files. Check that Veil is installed for this"
                " Python."
            ) from None

    def _ask(self, question: dict[str, object]) -> None:
        process = self._process
        if process is not None and process.stdin is not None:
            try:
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
            except OSError:
                return  # it has ended, so the answer will be missing

    def _answer(self, patience: float) -> ReadDocument | None:
        """Wait for an answer. None if the process is ready or the file has ended."""
        try:
            line = self._lines.get(timeout=patience)
        except queue.Empty:
            raise _FailedError("too-slow") from None
        try:
            return _piece(json.loads(line))
        except (ValueError, TypeError, LookupError, RecursionError):
            raise _FailedError("crashed") from None

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:
                return


class _FailedError(Exception):
    """The process gave no usable answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _pump(process: "subprocess.Popen[bytes]", lines: "queue.Queue[bytes]") -> None:
    """Move answers from the pipe to the queue. An empty line marks the end."""
    if process.stdout is not None:
        with process.stdout as answers:
            while line := answers.readline(_ANSWER):
                lines.put(line)
    lines.put(b"")


def _piece(answer: Any) -> ReadDocument | None:  # noqa: ANN401 - JSON
    """Return a validated answer. A file may have compromised the process."""
    if answer.get("ready") or answer.get("end"):
        return None
    piece = ReadDocument(int(answer["number"]), answer["title"], answer["text"], answer["skipped"])
    if not all(isinstance(part, str) for part in piece[1:]) or piece.number < 0:
        raise TypeError
    if piece.skipped and piece.skipped not in REASONS:
        raise LookupError
    return piece


MEMORY = 2 * 2**30  # bytes of address space
READY = {"ready": True}
END = {"end": True}
_FORBIDDEN = ("socket.", "subprocess.", "ctypes.", "os.", "shutil.", "urllib.", "webbrowser.")
_HARMLESS = ("os.listdir", "os.scandir", "os.fwalk", "os.walk", "os.listxattr", "os.getxattr")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Answer requests until standard input closes."""
    root, answers = Path(sys.argv[1]), sys.stdout.buffer
    sys.dont_write_bytecode = True
    _confine()
    _write(answers, READY)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        for piece in read(root, request["path"], request["kind"], request["first"]):
            _write(answers, piece._asdict())
        _write(answers, END)


def read(root: Path, path: str, kind: str, first: int = 1) -> Iterator[ReadDocument]:
    """Yield the documents of a file in a folder. Errors become reasons for skipping it."""
    try:
        module, _, name = READERS[kind].partition(":")
        reader = cast(Read, getattr(import_module(module), name))
        with open_inside(root, path) as file:
            yield from reader(file, first)
    except SkipError as skip:
        yield ReadDocument(0, skipped=skip.reason)
    except OSError:
        yield ReadDocument(0, skipped="unreadable")
    except (MemoryError, RecursionError):
        yield ReadDocument(0, skipped="too-large")
    except Exception:  # noqa: BLE001 - libraries raise many kinds of errors
        yield ReadDocument(0, skipped="damaged")


def _confine() -> None:
    """Drop all permissions that reading does not need."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        for name, limit in (("AS", MEMORY), ("FSIZE", 0), ("CORE", 0)):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITES:
            raise PermissionError("A reader must not write files.")
    elif event.startswith(_FORBIDDEN) and event not in _HARMLESS:
        raise PermissionError("A reader must not start programs or open connections.")


def _write(answers: IO[bytes], answer: Mapping[str, object]) -> None:
    answers.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
