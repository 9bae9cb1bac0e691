"""Consistent pseudonyms for personal data, and the map that restores the originals."""

import base64
import hmac
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.core.formatting import brief, count_of
from veil.data.files import whole_file
from veil.data.lines import read_lines, require_file, suffix_of
from veil.data.releases import check_output, open_writer
from veil.data.rows import read_table

_KIND, _VERSION = "veil-pseudonyms", 1
_BYTES = 10  # per pseudonym: a million of them collide with probability 1 in 10^12
_SHAPE = re.compile(r"\[[A-Z_]{2,40}-[a-z2-7]{16}\]")
_LARGEST = 256 * 2**20  # bytes of a map


@brief("originals")
@dataclass(frozen=True, eq=False, repr=False)  # a log line shows neither key nor originals
class Pseudonyms:
    """A secret key that derives pseudonyms, and the originals by pseudonym.

    A pseudonym is a keyed hash. Workers that share the key derive the same pseudonyms without
    communicating, and an attacker without the key cannot test guesses.
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    originals: dict[str, str] = field(default_factory=dict)

    def name(self, kind: str, original: str) -> str:
        """Return the pseudonym of an original, and add it to the map."""
        digest = hmac.digest(self.key, f"{kind}\0{original}".encode(), "sha256")[:_BYTES]
        pseudonym = f"[{kind}-{base64.b32encode(digest).decode().lower()}]"
        if self.originals.setdefault(pseudonym, original) != original:
            raise InputError("Two originals have the same pseudonym. Protect the texts again.")
        return pseudonym

    def __getstate__(self) -> dict[str, object]:
        """Return the key only: workers need no originals."""
        return {"key": self.key, "originals": {}}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the map, completely or not at all; only its owner can read the file."""
        document = {
            "kind": _KIND,
            "version": _VERSION,
            "key": self.key.hex(),
            "originals": self.originals,
        }
        with whole_file(Path(path), private=True) as part:
            part.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Pseudonyms":
        """Read a map that `save` wrote."""
        path = Path(path)
        if not path.is_file():
            raise InputError(
                f"There is no map {path.name}. Give the map that was written with the release."
            )
        if path.stat().st_size > _LARGEST:
            raise InputError(
                f"{path.name} is too large for a map of pseudonyms. Give another file."
            )
        try:
            return cls(*_read(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            raise InputError(f"{path.name} is not a map of pseudonyms, or is damaged.") from None


def _read(document: Any) -> tuple[bytes, dict[str, str]]:  # noqa: ANN401 - parsed JSON
    if document["kind"] != _KIND or document["version"] != _VERSION:
        raise ValueError
    originals = {str(key): str(value) for key, value in document["originals"].items()}
    return bytes.fromhex(document["key"]), originals


@dataclass
class RestoreCount:
    """Numbers of pseudonyms restored, and of pseudonyms missing from the map."""

    back: int = 0
    unknown: int = 0

    def text(self, text: str, pseudonyms: Pseudonyms) -> str:
        """Return a text with its originals restored, and count them."""
        return _SHAPE.sub(lambda match: self._original(match[0], pseudonyms), text)

    def _original(self, pseudonym: str, pseudonyms: Pseudonyms) -> str:
        original = pseudonyms.originals.get(pseudonym)
        if original is None:
            self.unknown += 1
            return pseudonym
        self.back += 1
        return original

    def summary(self) -> Iterator[str]:
        """Yield lines that report the counts, or raise if the map is of other texts."""
        if self.unknown and not self.back:
            raise InputError(
                f"The map has none of the {count_of(self.unknown, 'pseudonym')}. It belongs to"
                " another run. Nothing was written."
            )
        if not self.back:
            yield "The file has no pseudonyms. A kind such as [EMAIL] cannot be restored."
            return
        yield f"{count_of(self.back, 'pseudonym')} restored."
        if self.unknown:
            yield f"{count_of(self.unknown, 'pseudonym')} not in the map, and left unchanged."


_AT_ONCE = 4096  # rows
_TABLES = (".csv", ".tsv", ".jsonl", ".parquet")


def restore_file(source: Path, pseudonyms: Pseudonyms, target: Path) -> list[str]:
    """Write a copy of a file with the originals restored, and return lines that report it.

    Only its owner can read the copy.
    """
    require_file(source, "released texts")
    check_output(target)
    kind = suffix_of(source)
    if target.suffix.lower() != kind:
        raise InputError(f"The output must end in {kind}, like the input.")
    done = RestoreCount()
    if kind in _TABLES:
        return _table(source, pseudonyms, target, done)
    with whole_file(target, private=True) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(done.text(line, pseudonyms) for line in read_lines(source))
        return list(done.summary())


def _table(source: Path, pseudonyms: Pseudonyms, target: Path, done: RestoreCount) -> list[str]:
    header, rows = read_table(source)
    with open_writer(target, header.names, "", private=True) as writer:
        while batch := list(islice(rows, _AT_ONCE)):
            writer.write([[done.text(value, pseudonyms) for value in row.values] for row in batch])
        return list(done.summary())
