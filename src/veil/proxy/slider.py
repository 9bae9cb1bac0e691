"""Settings of the slider: measured configurations of an audit, or of the one shipped with Veil."""

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
    "By default, the slider is at the setting with the highest utility at which the strongest"
    " attacker of the audit is wrong more often than right, with 97.5 % confidence for each"
    " setting separately. If there is no such setting, it is at the most private one."
)
_WHOLE = 1e-6  # relative tolerance when the size of a log is recovered from a chance


@dataclass(frozen=True, slots=True)
class SliderStop:
    """A slider setting: a configuration that no other one of the audit beats, with its figures.

    Attributes
    ----------
    setting
        The mechanism and the number of variants.
    risk
        The most successful attack of the audit: how often its first guess is right.
    utility
        The nDCG@10 of its results.
    upper
        Upper bound of the risk under all attacks of the audit, with 97.5 % confidence. The
        confidence is for each configuration separately: the settings are the best of many
        configurations, and some may owe their place to luck.
    warning
        The attackers that were tried on other configurations but not on this one, or "".
    clear
        Share of the queries with a variant equal to the query; None if the audit lacks it.
    """

    setting: Configuration
    risk: Row
    utility: Row
    upper: float
    warning: str
    clear: Row | None = None

    @property
    def measured(self) -> bool:
        """Whether the audit measured it. Otherwise its risk is exact and its utility unknown."""
        return not math.isnan(self.utility.score)

    @property
    def log_size(self) -> int | None:
        """Number of queries the attacker chose from; None if it restores words without a log."""
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
    """Return the settings for a collection and engine, from the most private to the most useful.

    A configuration that was not tested with the strongest attacker, which most others were, is
    left out: its risk would look low only for that reason. Of configurations with the same
    measured risk and utility, the lowest upper bound decides, then fewer
    variants.
    """
    measured = candidates(rows, attacker="lazy", data=collection, task=engine)
    usable = sorted(
        _comparable([config for config in measured if _usable(config)]),
        key=lambda config: (config.upper, config.size, config.spec),
    )
    points = [(config.risk.score, config.utility.score) for config in usable]
    first = dict.fromkeys(points[i] for i in pareto(points))
    best = [usable[points.index(point)] for point in first]
    clear = {
        (row.spec, row.size): row
        for row in rows
        if row.measure == IN_CLEAR and row.data == collection
    }
    guessing = {row.attacker for row in rows if row.kind == "risk"}  # they have a log
    return tuple(
        SliderStop(
            Configuration(config.spec, config.size),
            replace(config.risk, kind="risk") if config.risk.attacker in guessing else config.risk,
            config.utility,
            config.upper,
            config.warning,
            clear.get((config.spec, config.size)),
        )
        for config in best
    )


def first_stop(stops: Sequence[SliderStop]) -> int:
    """Return the index of the default setting, by `RULE`."""
    return max((i for i, stop in enumerate(stops) if stop.upper < BOUND), default=0)


def _comparable(configs: Sequence[Candidate]) -> list[Candidate]:
    """Return the configurations that faced the attacker that wins most often."""
    best = Counter(config.risk.attacker for config in configs if len(config.attacks) > 1)
    strongest = {name for name, _ in best.most_common(1)}
    tested = [config for config in configs if strongest <= set(config.attacks)]
    return tested if 2 * len(tested) > len(configs) else list(configs)


def _usable(config: Candidate) -> bool:
    """Return whether a configuration works now, has a finite risk bound, and proves something."""
    if not (1 <= config.size <= MAX_SIZE and math.isfinite(config.upper)):
        return False
    try:
        mechanism = catalogue.mechanism(config.spec)
        guarantee = mechanism.guarantee
    except VeilError:  # a plugin was removed, or the range of a parameter has changed
        return False
    if isinstance(mechanism, Cover):  # its table exists or can be built
        return mechanism.table in BUILT_IN or math.isfinite(guarantee.bits)
    return guarantee.kind != "none" and math.isfinite(guarantee.epsilon)


def _percent(share: float, *, up: bool = False) -> str:
    """Format a share with one decimal; with `up`, round up."""
    shown = math.ceil(share * 1000 - 1e-9) if up else round(share * 1000)
    return f"{shown / 10:g} %"


_HERE = "veil-report"  # default output folder of 'veil audit'
SHIPPED = Path(__file__).with_name("measured.csv")
_TABLE = "results.csv"
_LARGEST = 64 * 2**20  # bytes of a table


@dataclass(frozen=True, slots=True)
class MeasuredPlane:
    """The measured plane of one collection and engine, and the slider settings on it.

    Attributes
    ----------
    origin, shipped
        Where the figures come from: a folder, or "shipped with Veil".
    stops
        At least one setting, from the most private to the most useful: risk and utility increase.
    rows
        All rows of the collection and engine.
    default
        Index of the default setting, by `RULE`.
    note
        Why a newer audit is not used, or "".
    uncovered
        Why cover is not the default although it should be, and what is instead; or "".
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
        """The utility of a plain search, if it was measured."""
        measure = self.stops[0].utility.measure
        return next(
            (row for row in self.rows if row.mechanism == "plain" and row.measure == measure), None
        )

    def place(self, setting: Configuration) -> int | None:
        """Return the index of a setting, or None if it is not on the slider."""
        for i, stop in enumerate(self.stops):
            if stop.setting == setting:
                return i
        return None


def load_plane(folder: Path | None = None) -> MeasuredPlane:
    """Return the plane of the audit in a folder.

    Without a folder, this is the last audit, else ``./veil-report``, else the audit shipped with
    Veil. Audits that cannot be used are skipped, and `MeasuredPlane.note` says why. An audit
    qualifies if each of its settings was measured on enough queries to certify a risk of 5 % and
    faced both an attacker that knows nothing of mechanisms and one that knows their distribution,
    as in the default audit, and if it has the collection and engine of the shipped one. An audit
    passed as `folder` need not qualify; the note then says what it lacks.

    If the table has several collections or engines, the first is used. Only mechanisms on
    words with a formal guarantee become settings, so that every setting proves something. Which
    configurations no other one beats depends on the sample, and so to some degree on luck.

    Raises
    ------
    InputError
        If the folder has no audit table, or none of its configurations can be a setting.
    """
    if folder == SHIPPED:
        return _shipped("")
    if folder is not None:
        plane = _plane(_read(folder), str(folder))
        gap = lacking(plane)
        return replace(plane, note=f"Limits of the audit {folder}: {gap}." if gap else "")
    notes: list[str] = []
    for path in _implicit(notes):
        try:
            if not _exists(path):
                if path.name != _HERE:
                    notes.append(f"The last audit, {path}, is gone.")
            else:
                _require_own(path)
                plane = _plane(_read(path), str(path), note=" ".join(notes))
                if not (gap := lacking(plane)):
                    return plane
                notes.append(
                    f"The audit {path} is not used for the slider: {gap}. Pass it with --audit"
                    " to use it anyway."
                )
        except InputError as error:
            notes.append(str(error))
    return _shipped(" ".join(notes))


def _shipped(note: str) -> MeasuredPlane:
    return _plane(read_csv(SHIPPED), "shipped with Veil", shipped=True, note=note)


REQUIRED = ("inference", "bayes")  # attackers that know nothing and everything about a mechanism
LEAST = cases_needed(0.05) or 0  # queries: 72


def lacking(plane: MeasuredPlane) -> str:
    """Return why an audit is not used by default, or "" if it qualifies."""
    attacks: dict[tuple[str, int], set[str]] = {}
    for row in plane.rows:
        if row.kind == "risk":
            names = attacks.setdefault((row.spec, row.size), set())
            names.add(row.attacker.partition("(")[0].strip())
    settings = {(stop.setting.mechanism, stop.setting.size) for stop in plane.stops}
    fewest = min(stop.risk.n for stop in plane.stops)
    absent = [
        name
        for name in REQUIRED
        if any(name not in attacks.get(setting, ()) for setting in settings)
    ]
    shipped = _shipped("")
    if fewest < LEAST:
        return f"it has {fewest:,} queries, but certifying a risk of 5 % takes at least {LEAST}"
    if absent:
        return f"not all of its configurations were attacked with {' and '.join(absent)}"
    if (plane.collection, plane.engine) != (shipped.collection, shipped.engine):
        return (
            f"it is for {plane.collection} with {plane.engine}, not {shipped.collection} with"
            f" {shipped.engine}"
        )
    return ""


def _implicit(notes: list[str]) -> list[Path]:
    """Return the default audit folders, in order."""
    here = Path(_HERE).absolute()
    try:
        last = noted_audit()
    except VeilError as error:
        notes.append(str(error))
        return [here]
    return [here] if last in (None, here) else [last, here]


def _exists(folder: Path) -> bool:
    try:
        return (folder / _TABLE).exists()
    except OSError:
        return True  # reading it then raises the error


def _require_own(folder: Path) -> None:
    """Reject a table that somebody else may have written: the user did not name this folder."""
    try:
        state = (folder / _TABLE).stat()
    except OSError as error:
        raise InputError(f"{folder / _TABLE} cannot be read ({error.strerror}).") from None
    if os.name == "posix" and (state.st_uid != os.getuid() or state.st_mode & 0o002):
        raise InputError(
            f"Other users can write {folder / _TABLE}. Pass the folder with --audit to use it"
            " anyway."
        )


def _read(folder: Path) -> tuple[Row, ...]:
    path = folder / _TABLE
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} must be at most {_LARGEST:,} bytes. Run a smaller audit.")
    except FileNotFoundError:
        pass  # reading it raises a helpful error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    return read_csv(path)


def _plane(
    rows: Sequence[Row], origin: str, *, shipped: bool = False, note: str = ""
) -> MeasuredPlane:
    """Return the plane of the first collection and engine of a table."""
    first = next((row for row in rows if row.kind == "utility"), None)
    stops = stops_of(rows, first.data, first.task) if first else ()
    if first is None or not stops:
        raise InputError(
            f"The audit ({origin}) must have a configuration for the slider: a mechanism on"
            " words with a formal guarantee, a utility and a risk by first guess. Run 'veil"
            " audit' again."
        )
    selected = tuple(
        row for row in rows if row.data == first.data and row.task in ("", first.task)
    )
    return MeasuredPlane(
        origin, shipped, first.data, first.task, stops, selected, first_stop(stops), note
    )


ATTACKER = "knows everything"  # shown instead of the name of an audit's attacker
_EMBEDDED = "cover(table='icd10cm'"
_MISSING = (
    "cover, the mechanism that hides most, is not on the slider: its table of {0} has not been"
    " built. Run 'veil cover build {0}' once, then start again."
)


def with_cover(
    plane: MeasuredPlane, standing: Locality, report: Report = no_progress
) -> MeasuredPlane:
    """Return the slider for an engine of this locality, with cover as the default.

    The table of the embedded catalogue is built now if it does not exist. The wordnet table, for
    remote engines, takes long to build: if it is missing, `note` and `uncovered` say how to build
    it. The user's own documents are searched without it, so a missing table is ignored.
    """
    mechanism = catalogue.mechanism(usual_mechanism(standing))
    if not isinstance(mechanism, Cover):
        return plane
    if standing == "elsewhere":
        plane = without_embedded(plane)
    if math.isinf(mechanism.guarantee.bits) and standing != "stand-in":
        if standing != "elsewhere":
            return plane
        message = _MISSING.format(mechanism.table)
        note = f"{plane.note} {message}".strip()
        return replace(plane, note=note, uncovered=f"{message} {_instead(plane)}")
    table = mechanism.open(report)
    setting = Configuration(str(mechanism), table.k)
    place = plane.place(setting)
    if place is not None:  # the audit measured it
        return replace(plane, default=place)
    return replace(plane, stops=(_unmeasured(plane, setting, table), *plane.stops), default=0)


def _instead(plane: MeasuredPlane) -> str:
    """Describe the default setting without cover and its utility."""
    stop, baseline = plane.stops[plane.default], plane.plain
    of = f" (plain search {baseline.score:.2f})" if baseline is not None else ""
    return (
        f"Until then the default is {catalogue.mechanism(stop.setting.mechanism).brief}, with a"
        f" utility of {stop.utility.score:.2f}{of} in the audit."
    )


def without_embedded(plane: MeasuredPlane) -> MeasuredPlane:
    """Return the slider without the embedded catalogue's table, which fits no other engine."""
    if not any(_EMBEDDED in stop.setting.mechanism for stop in plane.stops):
        return plane
    rows = [row for row in plane.rows if _EMBEDDED not in row.spec]
    stops = stops_of(rows, plane.collection, plane.engine)
    return replace(plane, stops=stops, default=first_stop(stops)) if stops else plane


def _unmeasured(plane: MeasuredPlane, setting: Configuration, table: Table) -> SliderStop:
    """Return a setting whose risk is exact and whose utility was not measured."""
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
