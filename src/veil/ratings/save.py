"""Released ratings as files: the rows, and a card beside them that says what they are."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.data.files import require_folder, whole_file
from veil.ratings.load import load
from veil.ratings.ratings import Ratings, Scale
from veil.ratings.release import Release

_CARD = 2**20  # bytes that a card may have


def save(release: Release, out: str | Path) -> None:
    """Write released ratings and their card, for their owner alone, each whole or not at all.

    Who was who (`release.rows`) stands in neither. Users are in the order of their random ids.
    """
    place = Path(out)
    require_writable(place)
    if release.data is None:
        raise InputError("This release is a model, and not ratings; save the model.")
    with whole_file(card_of(place), private=True) as part:
        told = json.dumps(document(release), indent=1, ensure_ascii=False)
        part.write_text(told + "\n", encoding="utf-8")
    with (
        whole_file(place, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        timed = ["time"] if release.data.time is not None else []
        writer.writerow(["user", "item", "rating", *timed])
        writer.writerows(_rows(release.data))


def require_writable(out: Path) -> None:
    """Raise if no released ratings can be written there."""
    if out.suffix.lower() != ".csv":
        raise InputError(f"{out.name} must end in .csv, which is what is written.")
    require_folder(out)


def card_of(out: Path) -> Path:
    """Return where the card of a release is: ``out.csv.veil.json``."""
    return out.with_name(f"{out.name}.veil.json")


def document(release: Release) -> dict[str, Any]:
    """Return what a card says: how it was made and what is proved, and no user."""
    cost, data = release.cost, release.data
    return {
        "mechanism": release.mechanism,
        "guarantee": str(cost),
        "kind": cost.kind,
        "unit": cost.unit,
        "neighbours": cost.neighbours,
        "caveat": cost.caveat,
        "seeded": release.seeded,
        "notes": list(release.notes),
        "scale": None if data is None else list(data.scale),
    }


@dataclass(frozen=True)
class Card:
    """What stands beside released ratings; empty where nothing does."""

    mechanism: str = ""
    seeded: bool = False
    notes: tuple[str, ...] = ()
    scale: Scale | None = None


def read_card(out: Path) -> Card:
    """Return what stands beside released ratings."""
    path = card_of(out)
    if not path.is_file():
        return Card()
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_CARD))
        low, high = found["scale"]
        return Card(
            str(found["mechanism"]),
            bool(found["seeded"]),
            tuple(str(note) for note in found["notes"]),
            (float(low), float(high)),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path.name} is no card of a release; remove it.") from None


def read_release(out: str | Path) -> Release:
    """Read released ratings back; what was proved of them is not read off a file."""
    place = Path(out)
    card = read_card(place)
    unknown = Guarantee("none", unit="user", caveat="A file proves nothing; see its card.")
    data = load(place, scale=card.scale)
    return Release(data, card.mechanism or "a file", unknown, card.seeded, card.notes)


def _rows(data: Ratings) -> Iterator[list[str]]:
    """Yield rows as text; whole numbers without a point."""
    users, items, values = data.user.tolist(), data.item.tolist(), data.value.tolist()
    times = [[] for _ in users] if data.time is None else [[_number(one)] for one in data.time]
    for user, item, value, time in zip(users, items, values, times, strict=True):
        yield [data.users[user], data.items[item], _number(value), *time]


def _number(value: float) -> str:
    whole = float(value).is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else repr(float(value))
