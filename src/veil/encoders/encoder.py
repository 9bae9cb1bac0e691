"""The contract of encoders, and checks of the texts they encode."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.types import Encoder, Singles
from veil.data.fetch import Report, no_progress

MAX_TEXTS = 10_000_000  # per call
MAX_CHARACTERS = 10_000_000  # per text: more than any book has
_BLOCK_TEXTS = 4_096
_BLOCK_CHARACTERS = 4_000_000


class EncoderSpec(Component):
    """Parameters of an encoder; `open` returns the encoder.

    Every encoder returns float32 rows of length 1. An empty text is encoded like any other, as the
    special tokens or the unknown word that the model uses for it. A row of zeros occurs only if
    the vectors of a text cancel exactly, so that there is no direction.
    """

    @abstractmethod
    def open(self, report: Report = no_progress) -> Encoder:
        """Return the encoder. The files it needs are fetched the first time."""


def check_texts(texts: Sequence[str]) -> None:
    """Raise an error unless `texts` is a sequence that is not too long. No message quotes it."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise InputError("An encoder takes a list of texts. Put a single text into a list.")
    if len(texts) > MAX_TEXTS:
        raise InputError(f"An encoder takes at most {MAX_TEXTS:,} texts in one call.")


def blocks(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the texts in blocks of a limited size, each with the index of its first text.

    Lone surrogates, which no tokeniser accepts, become the replacement character.
    """
    start = 0
    block: list[str] = []
    remaining = _BLOCK_CHARACTERS
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"Text {number + 1} of {len(texts)} is not a string.")
        if len(text) > MAX_CHARACTERS:
            raise InputError(
                f"Text {number + 1} of {len(texts)} has more than {MAX_CHARACTERS:,} characters;"
                " split it."
            )
        if block and (len(block) == _BLOCK_TEXTS or len(text) > remaining):
            yield start, block
            start, block, remaining = number, [], _BLOCK_CHARACTERS
        block.append(_replace_surrogates(text))
        remaining -= len(text)
    if block:
        yield start, block


def in_blocks(
    texts: Sequence[str],
    dim: int,
    encode: Callable[[list[str]], Singles],
    report: Report = no_progress,
) -> Singles:
    """Check texts and encode them block by block (n, dim)."""
    check_texts(texts)
    out = np.empty((len(texts), dim), dtype=np.float32)
    for start, block in blocks(texts):
        out[start : start + len(block)] = encode(block)
        report("encoding texts", start + len(block), len(texts))
    return out


def unit(rows: Singles) -> Singles:
    """Divide each row by its Euclidean length, computed in float64. A row of zeros stays zero."""
    wide = rows.astype(np.float64)
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    out: Singles = (wide / np.where(length > 0, length, 1)).astype(np.float32)
    return out


def _replace_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
