"""Plain text (.txt). The title is the first line."""

from collections.abc import Iterator
from typing import BinaryIO

from veil.corpus.readers.reader import ReadDocument, decoded, piece, read_limited


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the text."""
    del first
    yield piece(decoded(read_limited(file)))
