"""Word vectors as the wink packages carry them: one long line of JSON."""

import json
from typing import IO, Any

from veil.core.errors import InputError
from veil.core.types import Singles
from veil.text.vectors._gather import Gathered, Progress, single
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.textfile import decode

_CHUNK = 2**20


def read_wink_json(file: IO[bytes], name: str, progress: Progress = lambda _: None) -> Embeddings:
    """Read the JSON of the wink packages: ``"vectors": {word: [numbers, norm, index], ...}``.

    The file is parsed entry by entry, in constant memory beside the result.
    """
    window = _Window(file, name, progress)
    head = window.until('"vectors":{')
    try:
        dimensions = int(head.split('"dimensions":')[1].split(",")[0])
    except (IndexError, ValueError):
        raise InputError(f"{name} does not say its 'dimensions'.") from None
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
        raise InputError(f"{name} has a word without its {width} numbers; fetch it again.")
    return single(numbers)


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
        while chunk and chunk[-1] >= 0x80:  # never cut a character in two
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
        while (found := self._text.find(mark, self._at)) < 0:
            self._fill()
        head = self._text[self._at : found]
        self._at = found + len(mark)
        return head

    def value(self) -> object:
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except ValueError:
                self._fill()
                continue
            if end < len(self._text):  # a number at the very edge might go on
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
