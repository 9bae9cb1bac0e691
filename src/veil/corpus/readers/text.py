"""Plain text (.txt): the title is the first line."""

from collections.abc import Iterator
from typing import BinaryIO

from veil.corpus.readers.reader import Piece, decoded, piece, whole


def read(file: BinaryIO, first: int) -> Iterator[Piece]:
    """Yield the text."""
    del first
    yield piece(decoded(whole(file)))
