"""The slider: stops on the measured plane of an audit, or of the one shipped with Veil."""

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from veil.core.errors import InputError, VeilError
from veil.cover.table import Table
from veil.cover.universe import BUILT_IN
from veil.data.fetch import Report, no_progress
from veil.measures.bounds import CONFIDENCE, cases_needed
from veil.proxy.folder import noted_audit
from veil.proxy.settings import MAX_SIZE, Configuration, usual_mechanism
from veil.search.locality import Locality
from veil.search.study.study import IN_CLEAR
from veil.studies.choose import Candidate, candidates, pareto
from veil.studies.export import read_csv
from veil.studies.results import Row
from veil.text.mechanisms import catalogue
from veil.text.mechanisms.queries.cover import Cover

BOUND = 0.5  # below it the attacker is wrong more often than right
RULE = (
    "Until it is moved, the slider stands at the most useful stop at which the strongest attacker"
    " of the audit is wrong more often than right, with 97.5 % confidence for each stop by"
    " itself; if there is none, at the most private."
)
_WHOLE = 1e-6  # how far from a whole number the size of a log may come out


@dataclass(frozen=True, slots=True)
class SliderStop:
    """One stop of the slider: a configuration that no other of the audit beats, with its figures.

    Attributes
    ----------
    setting
        The mechanism and the number of variants.
    risk
        The attack of the audit that does best against it: how often its first guess is right.
    utility
        The nDCG@10 of its results.
    upper
        What the risk is at most, with 97.5 % confidence, under all attacks of the audit. That
        holds for each configuration by itself: of the many that were tried, those that look best
        are stops, and some may owe it to luck.
    warning
        The attackers that others faced and this one did not, or nothing.
    clear
        For what share of the queries one of the variants was the query itself; None if the audit
        does not tell.
    """

    setting: Configuration
    risk: Row
    utility: Row
    upper: float
    warning: str
    clear: Row | None = None

    @property
    def measured(self) -> bool:
        """Whether it is of the audit; else its risk is exact, and its utility is not known."""
        return not math.isnan(self.utility.score)

    @property
    def log_size(self) -> int | None:
        """From how many queries the attacker chose; None if it needs no log to restore words."""
        if self.risk.kind != "risk" or not self.risk.chance or not 0 < self.risk.chance <= 1:
            return None
        size = 1 / self.risk.chance
        return round(size) if abs(size - round(size)) <= _WHOLE * size else None

    def __str__(self) -> str:
        size = self.setting.size
        log = f" out of {self.log_size:,}" if self.log_size else ""
        return (
            f"{self.setting.mechanism} with {size} variant{'s' if size > 1 else ''}: the first"
            f" guess of an attacker{log} was the true query for {_percent(self.risk.score)} of"
            f" {self.risk.n} queries, and is for at most {_percent(self.upper, up=True)} of such"
            f" queries with {100 * CONFIDENCE:g} % confidence; the quality of the results was"
            f" {self.utility.score:.2f} of 1 (nDCG@10)."
        )


def stops_of(rows: Sequence[Row], collection: str, engine: str) -> tuple[SliderStop, ...]:
    """Return the stops of one collection and engine, from the most private to the most useful.

    A configuration that was spared the strongest attacker, which most others faced, is no stop:
    its risk would look low for that reason alone. Of configurations with the same measured risk
    and utility the one of the lowest bound stays, then the one of fewer variants.
    """
    found = candidates(rows, attacker="lazy", data=collection, task=engine)
    usable = sorted(
        _comparable([one for one in found if _usable(one)]),
        key=lambda one: (one.upper, one.size, one.spec),
    )
    points = [(one.risk.score, one.utility.score) for one in usable]
    first = dict.fromkeys(points[i] for i in pareto(points))
    chosen = [usable[points.index(point)] for point in first]
    clear = {
        (row.spec, row.size): row
        for row in rows
        if row.measure == IN_CLEAR and row.data == collection
    }
    guessing = {row.attacker for row in rows if row.kind == "risk"}  # they have a log
    return tuple(
        SliderStop(
            Configuration(one.spec, one.size),
            replace(one.risk, kind="risk") if one.risk.attacker in guessing else one.risk,
            one.utility,
            one.upper,
            one.warning,
            clear.get((one.spec, one.size)),
        )
        for one in chosen
    )


def first_stop(stops: Sequence[SliderStop]) -> int:
    """Return the place of the stop to start with: see `RULE`."""
    return max((i for i, stop in enumerate(stops) if stop.upper < BOUND), default=0)


def _comparable(found: Sequence[Candidate]) -> list[Candidate]:
    """Leave out what was spared the attacker that mostly wins where several were tried."""
    best = Counter(one.risk.attacker for one in found if len(one.attacks) > 1)
    strongest = {name for name, _ in best.most_common(1)}
    faced = [one for one in found if strongest <= set(one.attacks)]
    return faced if 2 * len(faced) > len(found) else list(found)


def _usable(one: Candidate) -> bool:
    """Whether a configuration can be used now, its risk is known, and something is proved."""
    if not (1 <= one.size <= MAX_SIZE and math.isfinite(one.upper)):
        return False
    try:
        mechanism = catalogue.mechanism(one.spec)
        guarantee = mechanism.guarantee
    except VeilError:  # a plugin that is gone, a parameter that has another range now
        return False
    if isinstance(mechanism, Cover):  # a table that can be built, or is there
        return mechanism.table in BUILT_IN or math.isfinite(guarantee.bits)
    return guarantee.kind != "none" and math.isfinite(guarantee.epsilon)


def _percent(share: float, *, up: bool = False) -> str:
    """Write a share with one decimal, `up` never below it."""
    shown = math.ceil(share * 1000 - 1e-9) if up else round(share * 1000)
    return f"{shown / 10:g} %"


_HERE = "veil-report"  # where 'veil audit' writes unless told otherwise
SHIPPED = Path(__file__).with_name("measured.csv")
_TABLE = "results.csv"
_LARGEST = 64 * 2**20  # bytes of a table


@dataclass(frozen=True, slots=True)
class MeasuredPlane:
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
    uncovered
        Why the slider does not start with cover where it should, and with what instead; or
        nothing.
    """

    origin: str
    shipped: bool
    collection: str
    engine: str
    stops: tuple[SliderStop, ...]
    rows: tuple[Row, ...]
    default: int
    note: str = ""
    uncovered: str = ""

    @property
    def plain(self) -> Row | None:
        """The utility of a search without any protection, if it was measured."""
        measure = self.stops[0].utility.measure
        return next(
            (row for row in self.rows if row.mechanism == "plain" and row.measure == measure), None
        )

    def place(self, setting: Configuration) -> int | None:
        """Return the place of the stop with this setting, or None if it is not a stop."""
        for i, stop in enumerate(self.stops):
            if stop.setting == setting:
                return i
        return None


def load_plane(folder: Path | None = None) -> MeasuredPlane:
    """Return the plane of the audit in a folder.

    Without a folder: of the last audit, else of ``./veil-report``, else of the audit that is
    shipped with Veil. An audit that is there and cannot be used is passed over, and `Plane.note`
    says so. An audit is fit to steer by if each of its stops was measured on as many queries as
    it takes to certify a risk of 5 %, and faced an attacker that knows nothing of mechanisms and
    one that knows their law, as in the default audit, on the collection and engine of the shipped
    one. Of one that is named, the note says what it lacks.

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
        plane = _plane(_read(folder), str(folder))
        why = lacking(plane)
        return replace(plane, note=f"Mind that of the audit {folder}: {why}." if why else "")
    notes: list[str] = []
    for place in _implicit(notes):
        try:
            if not _is_there(place):
                if place.name != _HERE:
                    notes.append(f"The last audit, {place}, is gone.")
            else:
                _require_own(place)
                plane = _plane(_read(place), str(place), note=" ".join(notes))
                if not (why := lacking(plane)):
                    return plane
                notes.append(
                    f"The audit {place} does not become the slider: {why}. Name it with --audit to"
                    " use it all the same."
                )
        except InputError as error:
            notes.append(str(error))
    return _shipped(" ".join(notes))


def _shipped(note: str) -> MeasuredPlane:
    return _plane(read_csv(SHIPPED), "shipped with Veil", shipped=True, note=note)


REQUIRED = ("inference", "bayes")  # attackers that know nothing, and all, of a mechanism
LEAST = cases_needed(0.05) or 0  # queries: 72


def lacking(plane: MeasuredPlane) -> str:
    """Say what an audit lacks that is to be the slider without being named, or nothing."""
    attacks: dict[tuple[str, int], set[str]] = {}
    for row in plane.rows:
        if row.kind == "risk":
            faced = attacks.setdefault((row.spec, row.size), set())
            faced.add(row.attacker.partition("(")[0].strip())
    settings = {(stop.setting.mechanism, stop.setting.size) for stop in plane.stops}
    fewest = min(stop.risk.n for stop in plane.stops)
    absent = [
        each for each in REQUIRED if any(each not in attacks.get(one, ()) for one in settings)
    ]
    shipped = _shipped("")
    if fewest < LEAST:
        return f"it has {fewest:,} queries, and a risk of 5 % takes at least {LEAST} to certify"
    if absent:
        return f"not all of its configurations faced {' and '.join(absent)}"
    if (plane.collection, plane.engine) != (shipped.collection, shipped.engine):
        return (
            f"it is of {plane.collection} with {plane.engine}, and not of {shipped.collection}"
            f" with {shipped.engine}"
        )
    return ""


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


def _plane(
    rows: Sequence[Row], origin: str, *, shipped: bool = False, note: str = ""
) -> MeasuredPlane:
    """Take the first collection and engine of a table, and find the stops."""
    first = next((row for row in rows if row.kind == "utility"), None)
    stops = stops_of(rows, first.data, first.task) if first else ()
    if first is None or not stops:
        raise InputError(
            f"The audit ({origin}) has no configuration that can be a stop of the slider: a"
            " mechanism on words with a formal guarantee, a utility and a risk by first guess."
        )
    kept = tuple(row for row in rows if row.data == first.data and row.task in ("", first.task))
    return MeasuredPlane(
        origin, shipped, first.data, first.task, stops, kept, first_stop(stops), note
    )


ATTACKER = "knows everything"  # in the place of the name of an attacker of an audit
_EMBEDDED = "cover(table='icd10cm'"
_MISSING = (
    "cover, which hides most, is not on the slider: its table of {0} is not there yet. Build it"
    " once with 'veil cover build {0}', and start again."
)


def with_cover(
    plane: MeasuredPlane, standing: Locality, report: Report = no_progress
) -> MeasuredPlane:
    """Return the slider for an engine that stands there: it starts with cover.

    The table of the embedded catalogue is built now if it is not there. That of wordnet, for
    engines elsewhere, takes long: where it is not there, `note` and `uncovered` say how to build
    it. For documents of the user's own, which are searched without it, it is there or not.
    """
    mechanism = catalogue.mechanism(usual_mechanism(standing))
    if not isinstance(mechanism, Cover):
        return plane
    if standing == "elsewhere":
        plane = without_embedded(plane)
    if math.isinf(mechanism.guarantee.bits) and standing != "stand-in":
        if standing != "elsewhere":
            return plane
        told = _MISSING.format(mechanism.table)
        note = f"{plane.note} {told}".strip()
        return replace(plane, note=note, uncovered=f"{told} {_instead(plane)}")
    table = mechanism.open(report)
    setting = Configuration(str(mechanism), table.k)
    place = plane.place(setting)
    if place is not None:  # the audit measured it
        return replace(plane, default=place)
    return replace(plane, stops=(_unmeasured(plane, setting, table), *plane.stops), default=0)


def _instead(plane: MeasuredPlane) -> str:
    """Say what the slider starts with, and what that is worth."""
    stop, plain = plane.stops[plane.default], plane.plain
    of = f" (plain search {plain.score:.2f})" if plain is not None else ""
    return (
        f"Until then it starts at {catalogue.mechanism(stop.setting.mechanism).brief}, with a"
        f" utility of {stop.utility.score:.2f}{of} in the audit."
    )


def without_embedded(plane: MeasuredPlane) -> MeasuredPlane:
    """Return the slider without the table of the embedded catalogue: it fits no other engine."""
    if not any(_EMBEDDED in stop.setting.mechanism for stop in plane.stops):
        return plane
    rows = [row for row in plane.rows if _EMBEDDED not in row.spec]
    stops = stops_of(rows, plane.collection, plane.engine)
    return replace(plane, stops=stops, default=first_stop(stops)) if stops else plane


def _unmeasured(plane: MeasuredPlane, setting: Configuration, table: Table) -> SliderStop:
    """Make a stop of what is exact: the results of it were not measured."""
    chance = 1 / len(table)
    risk = Row(
        table.universe, "", "cover", setting.mechanism, "", 0.0, table.k, "risk", "active",
        ATTACKER, table.risk(), math.nan, math.nan, len(table), chance,
    )  # fmt: skip
    useful = replace(
        plane.stops[0].utility, mechanism="cover", spec=setting.mechanism, parameter="", value=0.0,
        size=table.k, score=math.nan, low=math.nan, high=math.nan, n=0, p_value=None,
    )  # fmt: skip
    return SliderStop(setting, risk, useful, table.risk(), "")
