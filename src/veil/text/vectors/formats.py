"""Read word vectors in the formats of GloVe, word2vec and wink."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Singles
from veil.text.vectors.embeddings import MAX_DIM, Embeddings, normal, open_folder

Progress = Callable[[int], None]  # called with the number of bytes read so far


def to_float32(numbers: list[Any]) -> Singles:
    """Return float32 numbers; too large ones become infinite, and are rejected later."""
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=np.float32)


class Gathered:
    """Words and vectors collected one by one; the vectors are stored in blocks to save memory."""

    def __init__(self) -> None:
        self.words: dict[str, None] = {}
        self._blocks: list[Singles] = []
        self._rows: list[Singles] = []

    def add(self, word: str, vector: Singles) -> None:
        """Add a word, unless it is a duplicate."""
        word = normal(word)
        if word in self.words:
            return
        self.words[word] = None
        self._rows.append(vector)
        if len(self._rows) == 8192:
            self._blocks.append(np.stack(self._rows))
            self._rows = []

    def embeddings(self, name: str) -> Embeddings:
        """Return the words and vectors as embeddings."""
        rest = [np.stack(self._rows)] if self._rows else []
        return Embeddings(tuple(self.words), np.concatenate(self._blocks + rest), name)


_MAX_LINE = 2**20  # bytes


def read_text(file: IO[bytes], name: str, progress: Progress = lambda _: None) -> Embeddings:
    """Read one word and its numbers per line, with or without a word2vec header line.

    Only the first of duplicate words counts.
    """
    gathered = Gathered()
    read = 0
    width = 0
    missing = None  # vectors still to come, if a header gives their number
    for number, line in enumerate(_lines(file, name), start=1):
        read += len(line)
        fields = decode(line, name, number).rstrip("\r\n ").split(" ")
        if number == 1 and _is_header(fields):
            missing, width = int(fields[0]), int(fields[1])
            continue
        if fields == [""]:
            continue
        width = width or len(fields) - 1
        if not 0 < width <= MAX_DIM:
            raise InputError(
                f"Line {number:,} of {name} has no numbers after the word. Give a GloVe or"
                " word2vec text file."
            )
        word, vector = _split(fields, width, name, number)
        gathered.add(word, vector)
        missing = None if missing is None else missing - 1
        if number % 4096 == 0:
            progress(read)
    if not gathered.words:
        raise InputError(f"{name} has no vectors. Give a GloVe or word2vec file.")
    if missing:
        raise InputError(
            f"Line 1 of {name} announces {abs(missing):,} vectors"
            f" {'more' if missing > 0 else 'fewer'} than follow. Download the file again."
        )
    return gathered.embeddings(name)


def _lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    try:
        while line := file.readline(_MAX_LINE):
            if len(line) == _MAX_LINE:
                raise InputError(
                    f"{name} has a line of more than {_MAX_LINE:,} bytes. Give a text file of"
                    " vectors."
                )
            yield line
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read completely: {error}.") from None


def decode(data: bytes, name: str, number: int) -> str:
    """Return bytes decoded as UTF-8, or raise an error with the line number."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"Line {number:,} of {name} must be UTF-8 text. A binary word2vec file must end in"
            " .bin."
        ) from None


def _is_header(fields: list[str]) -> bool:
    return len(fields) == 2 and all(field.isdecimal() for field in fields)


def _split(fields: list[str], width: int, name: str, number: int) -> tuple[str, Singles]:
    """Split a line into word and vector; the word may contain spaces but no number."""
    word = " ".join(fields[:-width])
    extra = len(fields) - 1 - width
    try:
        vector = to_float32([float(field) for field in fields[-width:]])
    except ValueError:
        vector = np.empty(0, dtype=np.float32)
    if not word or len(vector) != width or (extra > 0 and any(map(_numeric, fields[1:-width]))):
        raise InputError(
            f"Line {number:,} of {name} must have a word and {width} numbers. Repair the file, or"
            " download it again."
        )
    if not np.isfinite(vector).all():
        raise InputError(
            f"Line {number:,} of {name} has a number that is not finite. Remove that line."
        )
    return word, vector


def _numeric(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


_CHUNK = 2**20


def read_wink_json(file: IO[bytes], name: str, progress: Progress = lambda _: None) -> Embeddings:
    """Read the JSON of the wink packages: ``"vectors": {word: [numbers, norm, index], ...}``.

    The file is parsed entry by entry, in constant memory besides the result.
    """
    window = _Window(file, name, progress)
    head = window.until('"vectors":{')
    try:
        dimensions = int(head.split('"dimensions":')[1].split(",")[0])
    except (IndexError, ValueError):
        raise InputError(f"{name} must have 'dimensions' before its vectors.") from None
    gathered = Gathered()
    more = True
    while more:
        word = window.value()
        window.expect(":")
        numbers = window.value()
        more = window.expect(",}") == ","
        if not isinstance(word, str) or not isinstance(numbers, list):
            raise InputError(f"{name} is not a table of words and vectors.")
        gathered.add(word, _row(numbers[:dimensions], dimensions, name))
    return gathered.embeddings(name)


def _row(numbers: list[Any], width: int, name: str) -> Singles:
    if len(numbers) != width or not all(isinstance(number, int | float) for number in numbers):
        raise InputError(f"{name} has a word without its {width} numbers. Download it again.")
    return to_float32(numbers)


class _Window:
    """A moving window of text over a long one-line JSON file."""

    def __init__(self, file: IO[bytes], name: str, progress: Progress) -> None:
        self._file, self._name, self._progress = file, name, progress
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._read = 0

    def _fill(self) -> None:
        chunk = self._file.read(_CHUNK)
        while chunk and chunk[-1] >= 0x80:  # complete the last character
            chunk += (more := self._file.read(1))
            if not more:
                break
        if not chunk or len(self._text) - self._at > 64 * _CHUNK:
            raise InputError(f"{self._name} ends too early or is not the expected JSON.")
        self._text = self._text[self._at :] + decode(chunk, self._name, 1)
        self._at = 0
        self._read += len(chunk)
        self._progress(self._read)

    def until(self, mark: str) -> str:
        while (position := self._text.find(mark, self._at)) < 0:
            self._fill()
        head = self._text[self._at : position]
        self._at = position + len(mark)
        return head

    def value(self) -> object:
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except ValueError:
                self._fill()
                continue
            if end < len(self._text):  # a number at the end may be incomplete
                self._at = end
                return value
            self._fill()

    def expect(self, options: str) -> str:
        while self._at >= len(self._text):
            self._fill()
        mark = self._text[self._at]
        if mark not in options:
            raise InputError(f"{self._name} is not the expected JSON.")
        self._at += 1
        return mark


_MAX_WORD = 2**12  # bytes in one word of a binary file


def read_vectors(path: Path, progress: Progress = lambda _: None) -> Embeddings:
    """Read GloVe or word2vec text (also .gz), word2vec .bin, .npy and words, or a saved folder."""
    if path.is_dir():
        return open_folder(path)
    if not path.is_file():
        raise InputError(f"File {path} does not exist. Check the path.")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _read_npy(path)
    if suffix == ".bin":
        return _read_binary(path, progress)
    if suffix == ".gz":
        with gzip.open(path) as file:
            return read_text(cast(IO[bytes], file), path.name, progress)
    with path.open("rb") as file:
        return read_text(file, path.name, progress)


def _read_npy(path: Path) -> Embeddings:
    candidates = (
        path.with_suffix(".words.txt"),
        path.with_suffix(".txt"),
        path.parent / "words.txt",
    )
    words = next((file for file in candidates if file.is_file()), None)
    if words is None:
        raise InputError(
            f"{path.name} needs its words, one per line, in {candidates[0].name},"
            f" {candidates[1].name} or {candidates[2].name} in the same folder."
        )
    try:
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        lines = words.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (ValueError, OSError, EOFError):
        raise InputError(
            f"{path.name} must be a NumPy array and {words.name} UTF-8 text."
        ) from None
    return Embeddings(tuple(lines), vectors, path.name)


def _read_binary(path: Path, progress: Progress) -> Embeddings:
    """Read word2vec's binary format: a header, then for each word a space and float32 numbers."""
    torn = InputError(
        f"{path.name} must be a complete word2vec .bin file (header 'words dimensions', then each"
        " word and its float32 numbers). Download it again."
    )
    with path.open("rb") as file:
        try:
            count, width = map(int, file.readline(64).split())
        except ValueError:
            raise torn from None
        plausible = 0 < width <= MAX_DIM and count > 0
        if not plausible or path.stat().st_size < count * (4 * width + 1):
            raise torn
        gathered = Gathered()
        for number in range(count):
            word = _binary_word(file, torn)
            data = file.read(4 * width)
            if len(data) < 4 * width:
                raise torn
            gathered.add(word, np.frombuffer(data, dtype="<f4").astype(np.float32))
            if number % 4096 == 0:
                progress(file.tell())
        if file.read(2).strip():
            raise torn
    return gathered.embeddings(path.name)


def _binary_word(file: IO[bytes], torn: InputError) -> str:
    word = bytearray()
    while (byte := file.read(1)) != b" ":
        if not byte or len(word) > _MAX_WORD:
            raise torn
        if byte != b"\n":
            word += byte
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        raise torn from None
