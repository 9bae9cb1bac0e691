"""The same personal data is the same pseudonym everywhere, and who has the map can undo it."""

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
_BYTES = 10  # of a pseudonym: two of a million meet with a chance of 1 in 10^12
_SHAPE = re.compile(r"\[[A-Z_]{2,40}-[a-z2-7]{16}\]")
_LARGEST = 256 * 2**20  # bytes of a map that is read


@brief("originals")
@dataclass(frozen=True, eq=False, repr=False)  # a log line shows neither key nor originals
class Pseudonyms:
    """A secret key that names originals, and the originals by their pseudonyms.

    A pseudonym is a keyed hash: workers that share the key give the same one without a word to
    each other, and who has no key cannot try out what is behind it.
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    originals: dict[str, str] = field(default_factory=dict)

    def name(self, kind: str, original: str) -> str:
        """Return the pseudonym of an original, and remember it."""
        digest = hmac.digest(self.key, f"{kind}\0{original}".encode(), "sha256")[:_BYTES]
        made = f"[{kind}-{base64.b32encode(digest).decode().lower()}]"
        if self.originals.setdefault(made, original) != original:
            raise InputError("Two originals have the same pseudonym; protect them once more.")
        return made

    def __getstate__(self) -> dict[str, object]:
        """Hand workers the key alone: what they find is noted here."""
        return {"key": self.key, "originals": {}}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the map for this user alone, whole or not at all."""
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
            raise InputError(f"There is no map {path.name}; name the one that was written then.")
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path.name} is larger than any map of pseudonyms; name another.")
        try:
            return cls(*_read(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            raise InputError(f"{path.name} is no map of pseudonyms, or is damaged.") from None


def _read(document: Any) -> tuple[bytes, dict[str, str]]:  # noqa: ANN401 - whatever is in a file
    if document["kind"] != _KIND or document["version"] != _VERSION:
        raise ValueError
    originals = {str(key): str(value) for key, value in document["originals"].items()}
    return bytes.fromhex(document["key"]), originals


@dataclass
class RestoreCount:
    """How many pseudonyms were put back, and how many the map does not know."""

    back: int = 0
    unknown: int = 0

    def text(self, text: str, pseudonyms: Pseudonyms) -> str:
        """Put the originals back into a text."""
        return _SHAPE.sub(lambda match: self._one(match[0], pseudonyms), text)

    def _one(self, pseudonym: str, pseudonyms: Pseudonyms) -> str:
        original = pseudonyms.originals.get(pseudonym)
        if original is None:
            self.unknown += 1
            return pseudonym
        self.back += 1
        return original

    def told(self) -> Iterator[str]:
        """Say what was done; raise where the map has nothing to do with the texts."""
        if self.unknown and not self.back:
            raise InputError(
                f"The map knows none of the {count_of(self.unknown, 'pseudonym')}: it is of"
                " another run. Nothing was written."
            )
        if not self.back:
            yield "No pseudonyms are in it. A kind alone, such as [EMAIL], names no original."
            return
        yield f"{count_of(self.back, 'pseudonym')} put back."
        if self.unknown:
            yield f"{count_of(self.unknown, 'pseudonym')} not in the map, and left as they are."


_AT_ONCE = 4096  # rows
_TABLES = (".csv", ".tsv", ".jsonl", ".parquet")


def restore_file(source: Path, pseudonyms: Pseudonyms, target: Path) -> list[str]:
    """Write a copy of a file with the originals in it, for this user alone; say what was done."""
    require_file(source, "released texts")
    check_output(target)
    kind = suffix_of(source)
    if target.suffix.lower() != kind:
        raise InputError(f"The output must end in {kind}, as the file that is restored.")
    done = RestoreCount()
    if kind in _TABLES:
        return _table(source, pseudonyms, target, done)
    with whole_file(target, private=True) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(done.text(line, pseudonyms) for line in read_lines(source))
        return list(done.told())


def _table(source: Path, pseudonyms: Pseudonyms, target: Path, done: RestoreCount) -> list[str]:
    header, rows = read_table(source)
    with open_writer(target, header.names, "", private=True) as writer:
        while some := list(islice(rows, _AT_ONCE)):
            writer.write([[done.text(one, pseudonyms) for one in row.values] for row in some])
        return list(done.told())
