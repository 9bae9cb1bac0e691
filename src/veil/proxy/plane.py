"""The measured plane that the slider moves along: of an audit, or the one shipped with Veil."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from veil.core.errors import InputError, VeilError
from veil.proxy.last_audit import noted_audit
from veil.proxy.stop import RULE as RULE
from veil.proxy.stop import Stop as Stop
from veil.proxy.stop import start, stops_of
from veil.proxy.types import Setting
from veil.studies.export import read_csv
from veil.studies.table import Row

_HERE = "veil-report"  # where 'veil audit' writes unless told otherwise
SHIPPED = Path(__file__).with_name("measured.csv")
_TABLE = "results.csv"
_LARGEST = 64 * 2**20  # bytes of a table


@dataclass(frozen=True, slots=True)
class Plane:
    """The measured plane of one collection and engine, and the stops of the slider on it.

    Attributes
    ----------
    origin, shipped
        Where the figures come from: a folder, or "shipped with Veil".
    stops
        At least one, from the most private to the most useful: risk and utility rise from each
        to the next.
    rows
        All rows of the collection and engine.
    default
        The place of the stop to start with; `RULE` says which that is.
    note
        Why a newer audit is not used, or nothing.
    """

    origin: str
    shipped: bool
    collection: str
    engine: str
    stops: tuple[Stop, ...]
    rows: tuple[Row, ...]
    default: int
    note: str = ""

    @property
    def plain(self) -> Row | None:
        """The utility of a search without any protection, if it was measured."""
        measure = self.stops[0].utility.measure
        return next(
            (row for row in self.rows if row.mechanism == "plain" and row.measure == measure), None
        )

    def place(self, setting: Setting) -> int | None:
        """Return the place of the stop with this setting, or None if it is not a stop."""
        for i, stop in enumerate(self.stops):
            if stop.setting == setting:
                return i
        return None


def load_plane(folder: Path | None = None) -> Plane:
    """Return the plane of the audit in a folder.

    Without a folder: of the last audit, else of ``./veil-report``, else of the audit that is
    shipped with Veil. An audit that is there and cannot be used is passed over, and `Plane.note`
    says so.

    Of a table with several collections or engines the first is taken. A stop is a mechanism on
    words with a formal guarantee: what is proved must hold wherever the slider stands. Which
    configurations no other beats depends on what was measured, and so to some degree on luck.

    Raises
    ------
    InputError
        If the folder has no table of an audit, or none of its configurations can be a stop.
    """
    if folder == SHIPPED:
        return _shipped("")
    if folder is not None:
        return _plane(_read(folder), str(folder))
    notes: list[str] = []
    for place in _implicit(notes):
        try:
            if not _is_there(place):
                if place.name != _HERE:
                    notes.append(f"The last audit, {place}, is gone.")
            else:
                _require_own(place)
                return _plane(_read(place), str(place), note=" ".join(notes))
        except InputError as error:
            notes.append(str(error))
    return _shipped(" ".join(notes))


def _shipped(note: str) -> Plane:
    return _plane(read_csv(SHIPPED), "shipped with Veil", shipped=True, note=note)


def _implicit(notes: list[str]) -> list[Path]:
    """Return the folders to look at when none is named."""
    here = Path(_HERE).absolute()
    try:
        last = noted_audit()
    except VeilError as error:
        notes.append(str(error))
        return [here]
    return [here] if last in (None, here) else [last, here]


def _is_there(folder: Path) -> bool:
    try:
        return (folder / _TABLE).exists()
    except OSError:
        return True  # and reading it says why it cannot be used


def _require_own(folder: Path) -> None:
    """Refuse a table that somebody else may have put there: nobody named that folder."""
    try:
        state = (folder / _TABLE).stat()
    except OSError as error:
        raise InputError(f"{folder / _TABLE} cannot be read ({error.strerror}).") from None
    if os.name == "posix" and (state.st_uid != os.getuid() or state.st_mode & 0o002):
        raise InputError(
            f"Others may have written {folder / _TABLE}; name the folder to use it all the same."
        )


def _read(folder: Path) -> tuple[Row, ...]:
    path = folder / _TABLE
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is larger than {_LARGEST:,} bytes; audit less at once.")
    except FileNotFoundError:
        pass  # reading it says what to do
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    return read_csv(path)


def _plane(rows: Sequence[Row], origin: str, *, shipped: bool = False, note: str = "") -> Plane:
    """Take the first collection and engine of a table, and find the stops."""
    first = next((row for row in rows if row.kind == "utility"), None)
    stops = stops_of(rows, first.data, first.task) if first else ()
    if first is None or not stops:
        raise InputError(
            f"The audit ({origin}) has no configuration that can be a stop of the slider: a"
            " mechanism on words with a formal guarantee, a utility and a risk by first guess."
        )
    kept = tuple(row for row in rows if row.data == first.data and row.task in ("", first.task))
    return Plane(origin, shipped, first.data, first.task, stops, kept, start(stops), note)
