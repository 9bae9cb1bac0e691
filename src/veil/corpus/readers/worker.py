"""Files are read by a process of its own: one that hangs or dies costs one file, not the run.

``python -P -m veil.corpus.readers.worker FOLDER`` takes lines of JSON with a file in the folder,
and answers with lines of JSON. It opens files to read, and nothing else: connections, programs and
files to write are refused from the start, whatever a library may try. Its memory is bounded where
the system can, its time by who asks.
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
_ANSWER = 64 * 2**20  # bytes of one
_RESTARTS = 20  # in one mailbox
_COMMAND = (sys.executable, "-P", "-m", "veil.corpus.readers.worker")  # -P: nothing of this folder


class ReaderProcess:
    """Reads the files of a folder; the process is started when it is first needed."""

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
        """Yield the documents of a file, and what of it was skipped.

        Where the process fails in the middle of a mailbox, it goes on after that message.
        """
        first = 1
        for _ in range(_RESTARTS):
            self._start()
            self._ask({"path": path, "kind": kind, "first": first})
            try:
                while (answer := self._answer(self.patience)) is not None:
                    first = max(first, answer.number + 1)  # 0 is the file as a whole
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
        """Start the process unless it runs; raise if it cannot."""
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
                "The process that reads files could not be started; is Veil installed for"
                " this Python?"
            ) from None

    def _ask(self, question: dict[str, object]) -> None:
        process = self._process
        if process is not None and process.stdin is not None:
            try:
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
            except OSError:
                return  # it is gone, as its missing answer will tell

    def _answer(self, patience: float) -> ReadDocument | None:
        """Wait for an answer; None for one that says that there is no more."""
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
    """The process did not answer, or not in a way that can be used."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _pump(process: "subprocess.Popen[bytes]", lines: "queue.Queue[bytes]") -> None:
    """Take answers off the pipe; an empty one is the last."""
    if process.stdout is not None:
        with process.stdout as answers:
            while line := answers.readline(_ANSWER):
                lines.put(line)
    lines.put(b"")


def _piece(answer: Any) -> ReadDocument | None:  # noqa: ANN401 - JSON
    """Check what came from the other process, which a file may have taken over."""
    if answer.get("ready") or answer.get("end"):
        return None
    piece = ReadDocument(int(answer["number"]), answer["title"], answer["text"], answer["skipped"])
    if not all(isinstance(part, str) for part in piece[1:]) or piece.number < 0:
        raise TypeError
    if piece.skipped and piece.skipped not in REASONS:
        raise LookupError
    return piece


MEMORY = 2 * 2**30  # bytes of addresses
READY = {"ready": True}
END = {"end": True}
_FORBIDDEN = ("socket.", "subprocess.", "ctypes.", "os.", "shutil.", "urllib.", "webbrowser.")
_HARMLESS = ("os.listdir", "os.scandir", "os.fwalk", "os.walk", "os.listxattr", "os.getxattr")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Answer until nobody asks any more."""
    root, answers = Path(sys.argv[1]), sys.stdout.buffer
    sys.dont_write_bytecode = True
    _confine()
    _tell(answers, READY)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        for piece in read(root, asked["path"], asked["kind"], asked["first"]):
            _tell(answers, piece._asdict())
        _tell(answers, END)


def read(root: Path, path: str, kind: str, first: int = 1) -> Iterator[ReadDocument]:
    """Yield the documents of a file in a folder; whatever is wrong with it becomes a reason."""
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
    except Exception:  # noqa: BLE001 - a library that meets a file that it does not expect
        yield ReadDocument(0, skipped="damaged")


def _confine() -> None:
    """Give up what reading does not need."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        for what, most in (("AS", MEMORY), ("FSIZE", 0), ("CORE", 0)):
            resource.setrlimit(getattr(resource, f"RLIMIT_{what}"), (most, most))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITES:
            raise PermissionError("a reader writes nothing")
    elif event.startswith(_FORBIDDEN) and event not in _HARMLESS:
        raise PermissionError("a reader starts and fetches nothing")


def _tell(answers: IO[bytes], answer: Mapping[str, object]) -> None:
    answers.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
