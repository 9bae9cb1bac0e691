"""Lines of text files: plain or compressed, with or without byte order mark, in any encoding.

Errors name a file and a line, never its content.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Literal, cast

from veil.core.errors import InputError, ParameterError

MAX_LINE = 64 * 2**20  # characters
Progress = Callable[[int], None]  # called with the number of bytes read
_TABLE = "save it as CSV (.csv)"
_TEXT = "save it as plain text (.txt), one text per line"
_UNPACK = "unpack it first (only .gz is supported)"
_CONVERT = "convert it to UTF-8"
_LINES = "write JSON lines (.jsonl), one object per line"
_UNREAD = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), _TABLE),
    **dict.fromkeys((".dta", ".sav", ".sas7bdat", ".rds", ".feather", ".db", ".sqlite"), _TABLE),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pdf", ".pages", ".pptx", ".ppt"), _TEXT),
    **dict.fromkeys((".html", ".htm", ".xml", ".epub", ".eml", ".msg"), _TEXT),
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz"), _UNPACK),
    ".json": _LINES,
}
_HEADS = {
    b"PK\x03\x04": "a spreadsheet, a document or an archive. Save it as CSV or plain text",
    b"\xd0\xcf\x11\xe0": "a spreadsheet or a document. Save it as CSV or plain text",
    b"%PDF": f"a PDF. {_TEXT.capitalize()}",
    b"{\\rt": f"a document. {_TEXT.capitalize()}",
    b"PAR1": "a Parquet file. Rename it so that it ends in .parquet",
    b"\x1f\x8b": "a compressed file. Rename it so that it ends in .gz",
}
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
UNREAD = tuple(_UNREAD)  # known suffixes that are not supported


@dataclass(frozen=True, repr=False)
class HeldFile:
    """A file in memory, which readers accept like a path. It is never written to disk.

    >>> list(read_lines(HeldFile("mine.csv", "x,y")))
    ['x,y']
    """

    name: str
    text: str

    @property
    def suffix(self) -> str:
        """The suffix of its name, which determines the format."""
        return PurePath(self.name).suffix

    @property
    def stem(self) -> str:
        """Its name without the suffix."""
        return PurePath(self.name).stem

    def open(self, mode: Literal["rb"] = "rb") -> IO[bytes]:  # noqa: ARG002 - as a path has it
        """Return its content in UTF-8."""
        return io.BytesIO(self.text.encode())

    def exists(self) -> bool:
        """Return True."""
        return True

    is_file = exists

    def is_dir(self) -> bool:
        """Return False."""
        return False


AnyFile = Path | HeldFile


def suffix_of(path: AnyFile) -> str:
    """Return the suffix of the format, without .gz."""
    packed = path.suffix.lower() == ".gz"
    return (PurePath(path.stem) if packed else path).suffix.lower()


def require_file(path: AnyFile, what: str) -> None:
    """Raise unless `path` is an existing file of a supported kind."""
    if path.is_dir():
        raise InputError(f"{path} is a folder. Choose a file of {what}.")
    if not path.exists():
        raise InputError(f"File {path} does not exist. Check the path.")
    if suggestion := _UNREAD.get(path.suffix.lower()):
        raise InputError(
            f"{path.name}: {path.suffix.lower()} files are not supported."
            f" {suggestion[0].upper()}{suggestion[1:]}."
        )


def check_encoding(name: str) -> str:
    """Return the name of an encoding of text, or raise."""
    try:
        "\n".encode(name)
    except (LookupError, UnicodeError, ValueError):
        raise ParameterError(
            "Unknown encoding. Examples: utf-8, utf-16, cp1252, latin-1."
        ) from None
    return name


def read_position(count: int, unit: str) -> str:
    """Return the position at which reading failed, for errors."""
    return f"after {unit} {count:,}" if count else "near its beginning"


def read_lines(
    path: AnyFile | None,
    encoding: str | None = None,
    progress: Progress = lambda _: None,
    *,
    choice: bool = False,
) -> Iterator[str]:
    """Yield the lines of a file (None: standard input), with line ends.

    With `choice`, errors mention the option --encoding.
    """
    remedy = "set --encoding, or convert it" if choice or encoding else _CONVERT
    name = "standard input" if path is None else path.name
    number = 0
    try:
        for line in _lines(path, name, encoding, progress, remedy):
            number += 1
            yield line
    except UnicodeError:
        raise InputError(
            f"{name} is not {encoding or 'UTF-8'} text {read_position(number, 'line')}. To fix"
            f" this, {remedy}."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"Cannot read {name} {read_position(number, 'line')} ({type(error).__name__}). Repair"
            " the file."
        ) from None


def _lines(
    path: AnyFile | None, name: str, encoding: str | None, progress: Progress, remedy: str
) -> Iterator[str]:
    with ExitStack() as stack:
        raw = sys.stdin.buffer if path is None else stack.enter_context(path.open("rb"))
        packed = path is not None and path.suffix.lower() == ".gz"
        stream: IO[bytes] = (
            stack.enter_context(cast(IO[bytes], gzip.GzipFile(fileobj=raw))) if packed else raw
        )
        head = stream.read(4)
        for mark, kind in _HEADS.items():
            if head.startswith(mark):
                raise InputError(f"{name} is {kind}.")
        whole = io.BufferedReader(_Rewound(head, stream), 2**16)
        for number, line in enumerate(_decoded(whole, encoding or _marked(head)), start=1):
            if "\0" in line or len(line) >= MAX_LINE:
                raise InputError(
                    f"Line {number:,} of {name} is not text. If it has another encoding, {remedy}."
                )
            if number % 1024 == 0 and path is not None:
                progress(raw.tell())
            yield line.removeprefix("\ufeff") if number == 1 else line


def split_returns(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines, split at carriage returns if the file has no line feeds.

    Old Macs, and some programs on new ones, end lines in this way.
    """
    first = next(lines, "")
    if "\r" in first and not first.endswith("\n"):
        yield from io.StringIO(first.replace("\r", "\n"))
    elif first:
        yield first
    yield from lines


def _marked(head: bytes) -> str:
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "utf-8")


def _decoded(stream: "io.BufferedReader[_Rewound]", encoding: str) -> Iterator[str]:
    """Decode line by line if the encoding allows it, so that errors have the right line number."""
    if "a\n".encode(check_encoding(encoding)) == b"a\n":
        while line := stream.readline(MAX_LINE):
            odd = b"\0" in line or len(line) == MAX_LINE
            yield "\0" if odd else line.decode(encoding)  # the caller rejects "\0"
        return
    with io.TextIOWrapper(stream, encoding, newline="\n") as text:
        while wide := text.readline(MAX_LINE):
            yield wide


class _Rewound(io.RawIOBase):
    """A stream preceded by the bytes that were already read from it."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        super().__init__()
        self._head, self._stream = head, cast(io.BufferedReader, stream)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._head or self._stream.read1(len(buffer))
        self._head = b""
        buffer[: len(data)] = data
        return len(data)
