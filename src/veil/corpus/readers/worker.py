"""The process that reads files: what a hostile one does to it ends with it.

``python -P -m veil.corpus.readers.worker FOLDER`` takes lines of JSON with a file in the folder,
and answers with lines of JSON. It opens files to read, and nothing else: connections, programs and
files to write are refused from the start, whatever a library may try. Its memory is bounded where
the system can, its time by who asks.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, cast

from veil.corpus.own.inside import open_inside
from veil.corpus.readers import READERS
from veil.corpus.readers.reading import Piece, Read, SkipError

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


def read(root: Path, path: str, kind: str, first: int = 1) -> Iterator[Piece]:
    """Yield the documents of a file in a folder; whatever is wrong with it becomes a reason."""
    try:
        module, _, name = READERS[kind].partition(":")
        reader = cast(Read, getattr(import_module(module), name))
        with open_inside(root, path) as file:
            yield from reader(file, first)
    except SkipError as skip:
        yield Piece(0, skipped=skip.reason)
    except OSError:
        yield Piece(0, skipped="unreadable")
    except (MemoryError, RecursionError):
        yield Piece(0, skipped="too-large")
    except Exception:  # noqa: BLE001 - a library that meets a file that it does not expect
        yield Piece(0, skipped="damaged")


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
