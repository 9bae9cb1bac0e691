"""The features of a GeoJSON file one by one, without holding the file."""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from veil.core.errors import InputError

_CHUNK = 2**20  # characters read at a time
_LONGEST = 2**26  # characters of one feature, or of another member
_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"


class Features:
    """Iterate over the features; then `members` holds what else the file says.

    Where the file is no JSON, an error is raised when that place is reached: nothing is to be
    made of features before all were read.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(f"There is no file {path}; check the path.")
        self.members: dict[str, object] = {}
        self._path = path
        self._text, self._at = "", 0

    def __iter__(self) -> Iterator[object]:
        try:
            with _opened(self._path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig") as file:
                yield from self._document(file)
        except InputError:
            raise
        except (ValueError, RecursionError, OSError, EOFError):
            raise InputError(f"{self._path.name} is not GeoJSON; write it again.") from None

    def _document(self, file: IO[str]) -> Iterator[object]:
        if self._next(file) != "{":
            raise InputError(f"{self._path.name} must be a FeatureCollection of points.")
        self._at += 1
        while self._next(file) != "}":
            name = self._value(file)
            if not isinstance(name, str) or name in self.members:
                raise ValueError("no name, or one that stands there twice")
            self._mark(file, ":")
            if name == "features" and self._next(file) == "[":
                self.members[name] = True
                yield from self._list(file)
            else:
                self.members[name] = self._value(file)
            if self._next(file) != "}":
                self._mark(file, ",")
        self._at += 1
        if self._next(file):
            raise ValueError("something follows")

    def _list(self, file: IO[str]) -> Iterator[object]:
        self._mark(file, "[")
        while self._next(file) != "]":
            yield self._value(file)
            if self._next(file) != "]":
                self._mark(file, ",")
        self._at += 1

    def _next(self, file: IO[str]) -> str:
        """Return the next character that is no blank, "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANK:
                    return self._text[self._at]
                self._at += 1
            if not self._more(file):
                return ""

    def _mark(self, file: IO[str], mark: str) -> None:
        if self._next(file) != mark:
            raise ValueError(f"no {mark}")
        self._at += 1

    def _value(self, file: IO[str]) -> object:
        """Decode a value, reading on while it does not end in what is there."""
        self._next(file)
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError:
                if len(self._text) - self._at > _LONGEST or not self._more(file):
                    raise
                continue
            if end < len(self._text) or not self._more(file):  # a number may go on
                self._at = end
                return cast(object, value)

    def _more(self, file: IO[str]) -> bool:
        """Read on, twice as much as is waiting; tell whether there was any."""
        waiting = self._text[self._at :]
        read = file.read(max(_CHUNK, len(waiting)))
        self._text, self._at = waiting + read, 0
        return bool(read)


def _opened(path: Path) -> IO[bytes]:
    packed = path.suffix.lower() == ".gz"
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")
