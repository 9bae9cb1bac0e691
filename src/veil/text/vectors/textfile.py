"""Word vectors as text: GloVe's and word2vec's, a word and its numbers per line."""

import zlib
from collections.abc import Iterator
from typing import IO

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Singles
from veil.text.vectors._gather import Gathered, Progress, single
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.vocabulary import MAX_DIM

_MAX_LINE = 2**20  # bytes


def read_text(file: IO[bytes], name: str, progress: Progress = lambda _: None) -> Embeddings:
    """Read one word and its numbers per line, with or without a word2vec header line.

    A word that comes again is skipped: the first one counts.
    """
    gathered = Gathered()
    read = 0
    width = 0
    missing = None  # vectors still to come, where a header gives their number
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
                f"Line {number:,} of {name} has no numbers after the word; give a GloVe or"
                " word2vec text file."
            )
        word, vector = _split(fields, width, name, number)
        gathered.add(word, vector)
        missing = None if missing is None else missing - 1
        if number % 4096 == 0:
            progress(read)
    if not gathered.words:
        raise InputError(f"{name} holds no vectors; give a GloVe or word2vec file.")
    if missing:
        raise InputError(
            f"Line 1 of {name} announces {abs(missing):,} vectors"
            f" {'more' if missing > 0 else 'less'} than follow; fetch the file again."
        )
    return gathered.embeddings(name)


def _lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    try:
        while line := file.readline(_MAX_LINE):
            if len(line) == _MAX_LINE:
                raise InputError(
                    f"{name} has a line of more than {_MAX_LINE:,} bytes; it is not a text file"
                    " of vectors."
                )
            yield line
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read to its end: {error}.") from None


def decode(data: bytes, name: str, number: int) -> str:
    """Read bytes as UTF-8, or say which line is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"Line {number:,} of {name} is not UTF-8 text; a binary word2vec file must be"
            " called .bin."
        ) from None


def _is_header(fields: list[str]) -> bool:
    return len(fields) == 2 and all(field.isdecimal() for field in fields)


def _split(fields: list[str], width: int, name: str, number: int) -> tuple[str, Singles]:
    """Split a line into word and vector; a word may contain spaces, never a number field."""
    word = " ".join(fields[:-width])
    extra = len(fields) - 1 - width
    try:
        vector = single([float(field) for field in fields[-width:]])
    except ValueError:
        vector = np.empty(0, dtype=np.float32)
    if not word or len(vector) != width or (extra > 0 and any(map(_numeric, fields[1:-width]))):
        raise InputError(
            f"Line {number:,} of {name} does not hold a word and {width} numbers (torn line, or"
            " rows of differing length); repair or fetch the file again."
        )
    if not np.isfinite(vector).all():
        raise InputError(
            f"Line {number:,} of {name} has a number that is not finite; remove that line."
        )
    return word, vector


def _numeric(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
