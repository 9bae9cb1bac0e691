"""Releases as files: the table, and a card beside it that says what it is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.data.files import require_folder, whole_file
from veil.tables.formats import write_csv, write_parquet
from veil.tables.method import nothing
from veil.tables.release import Release
from veil.tables.table import Table

FORMATS = (".csv", ".parquet")
SEEDED = "Seeded: the draws can be repeated. NOT PRIVATE."
_CARD = 2**20  # bytes that a card may have


def save(
    release: Release,
    out: Path,
    *,
    excel_safe: bool = False,
    shuffle: bool = False,
    quality: Mapping[str, float] | None = None,
) -> None:
    """Write a release and its card, for their owner alone, each whole or not at all.

    Which row of the original a row is stands in neither. `shuffle` also gives up their order,
    which is a link for whoever knows that of the original. `quality` is what was measured of it,
    for the card: who has the file alone cannot.
    """
    require_writable(out)
    table = release.table
    if shuffle:
        table = table.take(generator().permutation(len(table)))
    with whole_file(card_of(out), private=True) as part:
        told = document(release, shuffled=shuffle, quality=quality)
        part.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if out.suffix.lower() == ".csv":
        write_csv(table, out, excel_safe=excel_safe)
        return
    write_parquet(table, out)


def require_writable(out: Path) -> None:
    """Raise if no release can be written there."""
    if out.suffix.lower() not in FORMATS:
        raise InputError(f"{out.name} must end in {' or '.join(FORMATS)}, which tells the format.")
    require_folder(out)


def card_of(out: Path) -> Path:
    """Return where the card of a release is: ``out.csv.veil.json``."""
    return out.with_name(f"{out.name}.veil.json")


def document(
    release: Release, *, shuffled: bool = False, quality: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return what a card says: how it was made and what is proved, and no value."""
    claim = release.guarantee
    return {
        "method": release.method,
        "guarantee": str(claim),
        "kind": claim.kind,
        "caveat": claim.caveat,
        "seeded": release.seeded,
        "note": SEEDED if release.seeded else "",
        "rows": len(release),
        "suppressed": release.suppressed,
        "synthetic": release.rows is None,
        "levels": dict(release.levels),
        "roles": dict(release.table.roles),
        "order": "random" if shuffled else "as in the original",
        "quality": dict(quality or {}),
    }


@dataclass(frozen=True)
class Card:
    """What stands beside a released file; all empty where there is none."""

    method: str = ""
    seeded: bool = False
    suppressed: int = 0
    synthetic: bool = False
    shuffled: bool = False
    levels: dict[str, int] | None = None
    roles: dict[str, str] | None = None
    quality: dict[str, float] | None = None

    def release(self, table: Table) -> Release:
        """Return a release that was read back; which rows it has is not known."""
        made = Release(table, self.method or "a file", nothing(), self.seeded)
        return replace(made, levels=self.levels or {}, suppressed=self.suppressed)


def read_card(out: Path) -> Card:
    """Return what stands beside a released file."""
    path = card_of(out)
    if not path.is_file():
        return Card()
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_CARD))
        return Card(
            str(found["method"]),
            bool(found["seeded"]),
            int(found["suppressed"]),
            bool(found["synthetic"]),
            found["order"] == "random",
            {str(name): int(level) for name, level in found["levels"].items()},
            {str(name): str(role) for name, role in found["roles"].items()},
            {str(name): float(value) for name, value in found["quality"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path.name} is no card of a release; remove it.") from None
