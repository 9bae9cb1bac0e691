"""Read word vectors as other programs write them."""

import gzip
from pathlib import Path
from typing import IO, cast

import numpy as np

from veil.core.errors import InputError
from veil.text.vectors._gather import Gathered, Progress
from veil.text.vectors.embeddings import Embeddings, open_folder
from veil.text.vectors.textfile import read_text
from veil.text.vectors.vocabulary import MAX_DIM

_MAX_WORD = 2**12  # bytes in one word of a binary file


def read_vectors(path: Path, progress: Progress = lambda _: None) -> Embeddings:
    """Read GloVe or word2vec text (also .gz), word2vec .bin, .npy + words, or our own folder."""
    if path.is_dir():
        return open_folder(path)
    if not path.is_file():
        raise InputError(f"There is no file of vectors {path}; check the path.")
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
            f" {candidates[1].name} or {candidates[2].name} beside it."
        )
    try:
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        lines = words.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (ValueError, OSError, EOFError):
        raise InputError(
            f"{path.name} or {words.name} cannot be read as a NumPy table and UTF-8 words."
        ) from None
    return Embeddings(tuple(lines), vectors, path.name)


def _read_binary(path: Path, progress: Progress) -> Embeddings:
    """Read word2vec's binary format: header, then word, space, float32 numbers."""
    torn = InputError(
        f"{path.name} is not a whole word2vec .bin file (header 'words dimensions', then each"
        " word and its float32 numbers); fetch it again."
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
