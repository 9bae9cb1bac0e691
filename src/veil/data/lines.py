"""Lines of text files as people have them: compressed, with a mark, in any encoding.

Messages name a file and a line, never what stands in it.
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
Progress = Callable[[int], None]  # told how many bytes of a file have been read
_TABLE = "save it as CSV (.csv)"
_TEXT = "save it as plain text (.txt), one text per line"
_UNPACK = "unpack it first; of packed files only .gz are read"
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
    b"PK\x03\x04": "a spreadsheet, a document or an archive; save it as CSV or plain text",
    b"\xd0\xcf\x11\xe0": "a spreadsheet or a document; save it as CSV or plain text",
    b"%PDF": f"a PDF; {_TEXT}",
    b"{\\rt": f"a document; {_TEXT}",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"\x1f\x8b": "a compressed file; let its name end in .gz",
}
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
UNREAD = tuple(_UNREAD)  # endings of files that are known, and not read


@dataclass(frozen=True, repr=False)
class HeldFile:
    """A file in memory, which readers take as they take a path; it is never on a disk.

    >>> list(read_lines(HeldFile("mine.csv", "x,y")))
    ['x,y']
    """

    name: str
    text: str

    @property
    def suffix(self) -> str:
        """The ending of its name, which tells the format."""
        return PurePath(self.name).suffix

    @property
    def stem(self) -> str:
        """Its name without the ending."""
        return PurePath(self.name).stem

    def open(self, mode: Literal["rb"] = "rb") -> IO[bytes]:  # noqa: ARG002 - as a path has it
        """Return its bytes, in UTF-8."""
        return io.BytesIO(self.text.encode())

    def exists(self) -> bool:
        """Return True: it is there as long as it is held."""
        return True

    is_file = exists

    def is_dir(self) -> bool:
        """Return False."""
        return False


AnyFile = Path | HeldFile


def suffix_of(path: AnyFile) -> str:
    """Return the suffix that tells the format, also of a file ending in .gz."""
    packed = path.suffix.lower() == ".gz"
    return (PurePath(path.stem) if packed else path).suffix.lower()


def require_file(path: AnyFile, what: str) -> None:
    """Raise unless there is a file of that name, and not one of a kind that is not read."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file of {what}.")
    if not path.exists():
        raise InputError(f"There is no file {path}; check the path.")
    if path.suffix.lower() in _UNREAD:
        raise InputError(
            f"{path.name}: files ending in {path.suffix.lower()} are not read;"
            f" {_UNREAD[path.suffix.lower()]}."
        )


def check_encoding(name: str) -> str:
    """Return the name of an encoding of text, or raise."""
    try:
        "\n".encode(name)
    except (LookupError, UnicodeError, ValueError):
        raise ParameterError(
            "There is no encoding of that name; examples are utf-8, utf-16, cp1252 and latin-1."
        ) from None
    return name


def read_position(count: int, unit: str) -> str:
    """Return how messages say how far a file could be read."""
    return f"after {unit} {count:,}" if count else "near its beginning"


def read_lines(
    path: AnyFile | None,
    encoding: str | None = None,
    progress: Progress = lambda _: None,
    *,
    choice: bool = False,
) -> Iterator[str]:
    """Yield the lines of a file, with their ends (None: standard input).

    `choice` says that whoever reads it can name the encoding: messages then say how.
    """
    remedy = "name its encoding with --encoding, or convert it" if choice or encoding else _CONVERT
    name = "standard input" if path is None else path.name
    number = 0
    try:
        for line in _lines(path, name, encoding, progress, remedy):
            number += 1
            yield line
    except UnicodeError:
        raise InputError(
            f"{name} is not {encoding or 'UTF-8'} text {read_position(number, 'line')}; {remedy}."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{name} cannot be read {read_position(number, 'line')} ({type(error).__name__});"
            " repair the file."
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
        whole = io.BufferedReader(_Again(head, stream), 2**16)
        for number, line in enumerate(_decoded(whole, encoding or _marked(head)), start=1):
            if "\0" in line or len(line) >= MAX_LINE:
                raise InputError(
                    f"Line {number:,} of {name} is not a line of text (binary data, or another"
                    f" encoding: {remedy})."
                )
            if number % 1024 == 0 and path is not None:
                progress(raw.tell())
            yield line.removeprefix("\ufeff") if number == 1 else line


def split_returns(lines: Iterator[str]) -> Iterator[str]:
    """Cut a file that is one line, with carriage returns in it, where these stand.

    So end the lines of files of old Macs, and of some programs on new ones.
    """
    first = next(lines, "")
    if "\r" in first and not first.endswith("\n"):
        yield from io.StringIO(first.replace("\r", "\n"))
    elif first:
        yield first
    yield from lines


def _marked(head: bytes) -> str:
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "utf-8")


def _decoded(stream: "io.BufferedReader[_Again]", encoding: str) -> Iterator[str]:
    """Decode line by line, so that a fault is found at its own line, where bytes show lines."""
    if "a\n".encode(check_encoding(encoding)) == b"a\n":
        while line := stream.readline(MAX_LINE):
            odd = b"\0" in line or len(line) == MAX_LINE
            yield "\0" if odd else line.decode(encoding)  # which is then refused
        return
    with io.TextIOWrapper(stream, encoding, newline="\n") as text:
        while wide := text.readline(MAX_LINE):
            yield wide


class _Again(io.RawIOBase):
    """A stream with the bytes before it that were read already."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        super().__init__()
        self._head, self._stream = head, cast(io.BufferedReader, stream)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        found = self._head or self._stream.read1(len(buffer))
        self._head = b""
        buffer[: len(found)] = found
        return len(found)
