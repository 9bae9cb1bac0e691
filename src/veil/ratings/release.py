"""Releases on disk: ratings or a model, with a card.

A model file has arrays and a few facts, and no pickle. The model is personal: it was trained on
ratings, and is opened with them. The file has only their digest, so that other ratings are
rejected. The file of a private model has only released arrays, since a digest would reveal to an
attacker who knows all other users whether one user is in the ratings. It is opened with any
ratings of its items.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.data.files import require_folder, whole_file
from veil.data.releases import CsvWriter
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.ratings import Ratings, Scale, Values
from veil.ratings.reader import load
from veil.ratings.recommender import Model
from veil.ratings.recommenders import RECOMMENDERS
from veil.ratings.shards import free_memory

SEEDED = "This release used a seed: its draws are reproducible, and it is NOT PRIVATE."


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A release of ratings, which has no user id of the original.

    Attributes
    ----------
    data
        Released ratings, or None if a model is released.
    model
        The released model, or None. It has the ratings of its users and serves them; only
        `model.public` may be published.
    mechanism, cost
        Spec of the mechanism, and its guarantee for one user (or for `cost.unit`).
    seeded
        Whether the draws are reproducible: **not private**.
    notes
        Limits that readers of the release must know.
    rows
        For experiments only, and never written: position of the original user behind each
        released one, or None.
    """

    data: Ratings | None
    mechanism: str
    cost: Guarantee
    seeded: bool
    notes: tuple[str, ...] = ()
    model: Model | None = None
    rows: tuple[int, ...] | None = None


_ROWS = 100_000  # written at a time


def write_ratings(data: Ratings, path: Path) -> None:
    """Write user, item, rating and perhaps time as a CSV that only its owner can read."""
    names = ["user", "item", "rating", *(["time"] if data.time is not None else [])]
    users, items = np.array(data.users, dtype=object), np.array(data.items, dtype=object)
    with (
        whole_file(path, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        rows = CsvWriter(file)
        rows.writerow(names)
        for start in range(0, len(data), _ROWS):
            part_rows = slice(start, start + _ROWS)
            columns = [
                users[data.user[part_rows]],
                items[data.item[part_rows]],
                _shown(data.value[part_rows]),
            ]
            if data.time is not None:
                columns.append(_shown(data.time[part_rows]))
            rows.writerows(zip(*columns, strict=True))


def _shown(numbers: Values) -> list[str]:
    """Return the shortest decimal texts that round-trip."""
    return [text.removesuffix(".0") for text in map(str, numbers.tolist())]


_CARD = 2**20  # maximum bytes of a card


def save(release: Release, out: str | Path) -> None:
    """Write released ratings and their card, atomically and readable by the owner only.

    Neither contains `release.rows`. Users are in the order of their random ids.
    """
    place = Path(out)
    require_writable(place)
    if release.data is None:
        raise InputError("This release is a model instead of ratings. Save the model.")
    with whole_file(card_of(place), private=True) as part:
        text = json.dumps(document(release), indent=1, ensure_ascii=False)
        part.write_text(text + "\n", encoding="utf-8")
    with (
        whole_file(place, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = CsvWriter(file)
        timed = ["time"] if release.data.time is not None else []
        writer.writerow(["user", "item", "rating", *timed])
        writer.writerows(_rows(release.data))


def require_writable(out: Path) -> None:
    """Raise unless released ratings can be written to `out`."""
    if out.suffix.lower() != ".csv":
        raise InputError(f"The output must be a .csv file. Got {out.name} instead.")
    require_folder(out)


def card_of(out: Path) -> Path:
    """Return the path of a release's card: ``out.csv.veil.json``."""
    return out.with_name(f"{out.name}.veil.json")


def document(release: Release) -> dict[str, Any]:
    """Return the content of a card: mechanism and guarantee, but nothing about users."""
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
    """The card of released ratings; empty if there is no card file."""

    mechanism: str = ""
    seeded: bool = False
    notes: tuple[str, ...] = ()
    scale: Scale | None = None


def read_card(out: Path) -> Card:
    """Return the card of released ratings."""
    path = card_of(out)
    if not path.is_file():
        return Card()
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(_CARD))
        low, high = content["scale"]
        return Card(
            str(content["mechanism"]),
            bool(content["seeded"]),
            tuple(str(note) for note in content["notes"]),
            (float(low), float(high)),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path.name} is not a release card. Delete it.") from None


def read_release(out: str | Path) -> Release:
    """Return released ratings from a file; files do not prove a guarantee."""
    place = Path(out)
    card = read_card(place)
    unknown = Guarantee("none", unit="user", caveat="A file proves nothing; see its card.")
    data = load(place, scale=card.scale)
    return Release(data, card.mechanism or "a file", unknown, card.seeded, card.notes)


def _rows(data: Ratings) -> Iterator[list[str]]:
    """Yield rows as strings; integers without a decimal point."""
    users, items, values = data.user.tolist(), data.item.tolist(), data.value.tolist()
    times = (
        [[] for _ in users] if data.time is None else [[_number(seconds)] for seconds in data.time]
    )
    for user, item, value, time in zip(users, items, values, times, strict=True):
        yield [data.users[user], data.items[item], _number(value), *time]


def _number(value: float) -> str:
    whole = float(value).is_integer() and abs(value) < 2**53
    return str(int(value)) if whole else repr(float(value))


_NEAR = 1e-9  # relative tolerance for equal scores


def link_profiles(released: Ratings, truth: Ratings) -> tuple[int, ...]:
    r"""Return the user, by position, behind each released profile (n',), or -1.

    The file of a release does not contain this. Each user of the truth, with all her ratings,
    takes the most similar free profile:

    .. math:: \frac{1}{\sqrt{|I_v|}} \sum_{i \in I_u \cap I_v}
       \frac{e^{-|r_{ui} - r_{vi}|}}{\ln \max(|U_i|, 2)}

    The links are right if profiles still identify users; if they do not, nobody can be found with
    less knowledge. They only score attacks, and attackers do not see them.
    """
    owner = np.full(released.n, -1, dtype=np.int64)
    places = released.item_positions
    items = np.array([places.get(name, -1) for name in truth.items], dtype=np.int64)
    weights = 1 / np.log(np.maximum(released.per_item, 2))
    sizes = 1 / np.sqrt(np.maximum(released.per_user, 1))
    for user in np.argsort(-truth.per_user, kind="stable").tolist():
        likeness = _likeness(released, truth, user, items, weights) * sizes
        likeness[owner >= 0] = -1.0
        best = float(likeness.max())
        if best > 0:
            owner[np.flatnonzero(likeness >= best * (1 - _NEAR))[0]] = user
    return tuple(owner.tolist())


def _likeness(released: Ratings, truth: Ratings, user: int, items: Ids, weights: Floats) -> Floats:
    total, rows = np.zeros(released.n), truth.rows(user)
    for item, value in zip(items[truth.item[rows]].tolist(), truth.value[rows], strict=True):
        if item >= 0:
            raters = released.order[released.item_starts[item] : released.item_starts[item + 1]]
            alike = np.exp(-np.abs(value - released.value[raters]))
            total[released.user[raters]] += weights[item] * alike
    return total


_KIND, _VERSION = "veil ratings model", 1
_MAX_META = 2**16  # bytes
_OTHERS = (
    "The model was trained on other ratings or items. Pass the ratings and the catalogue that it"
    " was trained on."
)


def save_model(model: Model, path: Path) -> None:
    """Write a model, whole or not at all, for its owner only."""
    meta = {
        "kind": _KIND,
        "version": _VERSION,
        "spec": model.spec,
        "positive": model.positive,
        "seeded": model.seeded,
        "guarantee": asdict(model.guarantee),
        "scale": model.train.scale,
        "declared": model.train.declared,
        "train": _digest(model.train, model.spec),
    }
    facts = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    arrays: dict[str, Any] = dict(model.state())
    with whole_file(path, private=True) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, meta=facts, **arrays)


def open_model(
    path: Path,
    train: Path,
    columns: tuple[str, ...] | None = None,
    catalogue: Path | None = None,
) -> Model:
    """Return a model from its file and the ratings (and catalogue) that it was trained on."""
    meta, state = _read(path)
    try:
        scale = tuple(map(float, meta["scale"])) if meta["declared"] else None
        data = load(train, scale, columns, catalogue)  # type: ignore[arg-type]
        spec = str(meta["spec"])
        if meta["train"] != _digest(data, spec):
            raise InputError(_OTHERS)
        model = RECOMMENDERS.parse(spec).restore(data, float(meta["positive"]), state)
        if _is_private(spec):
            model.guarantee = Guarantee(**meta["guarantee"])
        model.seeded = bool(meta["seeded"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path.name} is not a complete model. Fit it again.") from None
    return model


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    if not path.is_file():
        raise InputError(f"The file {path} does not exist. Check the path.")
    try:
        with zipfile.ZipFile(path) as packed:
            room = sum(part.file_size for part in packed.infolist())
        if room <= free_memory():
            with np.load(path, allow_pickle=False) as arrays:
                state = {name: arrays[name] for name in arrays.files}
            facts = state.pop("meta")
            meta = json.loads(facts[:_MAX_META].tobytes().decode())
    except Exception:  # noqa: BLE001 - a damaged file may raise anything
        raise InputError(f"{path.name} is not a model of ratings. Write one with fit.") from None
    if room > free_memory():
        raise InputError(f"{path.name} is larger than the free memory. Free some.")
    if not isinstance(meta, dict) or meta.get("kind") != _KIND or meta["version"] != _VERSION:
        raise InputError(f"{path.name} is not a model of this version. Fit it again.")
    return meta, state


def _is_private(spec: str) -> bool:
    """Return whether the model of a spec has a privacy guarantee."""
    return RECOMMENDERS.parse(spec).name in MECHANISMS.names()


def _digest(data: Ratings, spec: str) -> str:
    """Return the digest of the ratings behind a model; if it is private, of the items only."""
    digest = hashlib.sha256(json.dumps(data.items).encode())
    if _is_private(spec):
        return digest.hexdigest()
    digest.update(json.dumps(data.users).encode())
    for array in (data.user, data.item, data.value.astype(np.float64)):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
