"""What an index of a folder knows of its files: enough to tell what changed, and to open one."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from veil.corpus.readers.reading import AGAIN, REASONS
from veil.data.arrays import Array, Strings

_NAME = "file"


@dataclass(frozen=True, slots=True)
class Row:
    """One file.

    Attributes
    ----------
    path
        In the folder, with slashes.
    mtime
        In nanoseconds; 0 where it was too fresh to tell a later change by it.
    digest
        SHA-256 of the content; empty for a file that was too large to be looked at.
    documents
        How many it gave; they stand together in the index, in the order of the files.
    skipped
        How much of it was skipped, by reason.
    """

    path: str
    kind: str
    size: int
    mtime: int
    digest: str
    documents: int
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether reading it again would bring the same."""
        return not AGAIN & set(self.skipped)


@dataclass(frozen=True, eq=False)
class Listing:
    """All files of a folder, in order of their paths.

    Attributes
    ----------
    root
        The folder.
    left
        What else is in it, by reason.
    model
        The encoder whose vectors are in the index, or nothing.
    """

    root: Path
    rows: Sequence[Row]
    left: Mapping[str, int] = field(default_factory=dict)
    model: str = ""

    @property
    def skipped(self) -> Counter[str]:
        """How much was skipped, by reason: files, and messages of mailboxes."""
        total = Counter(self.left)
        for row in self.rows:
            total.update(row.skipped)
        return total

    @cached_property
    def starts(self) -> list[int]:
        """Return the place of each file's first document."""
        places, place = [], 0
        for row in self.rows:
            places.append(place)
            place += row.documents
        return places

    def file_of(self, name: str) -> tuple[Row, int] | None:
        """Return the file of a document by its id, and where the documents of the file begin."""
        row = self._by_path.get(name)
        if row is None or row[0].kind == "mbox":
            row = self._by_path.get(name.rpartition("/")[0])
            if row is None or row[0].kind != "mbox":
                return None
        return row

    @cached_property
    def _by_path(self) -> dict[str, tuple[Row, int]]:
        return {row.path: (row, start) for row, start in zip(self.rows, self.starts, strict=True)}

    def facts(self) -> dict[str, Any]:
        """Return what is kept beside the arrays."""
        return {"root": str(self.root), "left": dict(self.left), "model": self.model}

    def arrays(self) -> dict[str, Array]:
        """Return the files as arrays."""
        lines = (
            json.dumps([r.path, r.kind, r.size, r.mtime, r.digest, r.documents, dict(r.skipped)])
            for r in self.rows
        )
        return dict(Strings.of(lines).arrays(_NAME))

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], facts: Mapping[str, Any]) -> Self:
        """Put a listing together; raises `ValueError` or `LookupError` for what is none."""
        rows = []
        for line in Strings.from_arrays(arrays, _NAME):
            path, kind, size, mtime, digest, documents, skipped = json.loads(line)
            if not set(skipped) <= set(REASONS):
                raise ValueError("an unknown reason")
            counts = {str(name): int(count) for name, count in skipped.items()}
            sizes = int(size), int(mtime)
            rows.append(Row(str(path), str(kind), *sizes, str(digest), int(documents), counts))
        left = {name: int(facts["left"][name]) for name in facts["left"] if name in REASONS}
        return cls(Path(str(facts["root"])), rows, left, str(facts["model"]))
