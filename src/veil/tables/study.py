"""Tables as an experiment."""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import stream
from veil.core.types import Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.data.files import digest as file_digest
from veil.measures.estimate import Estimate, above_chance, stand_in
from veil.studies.experiment import Axis, Cell, Experiment, Figure, Step, Vocabulary, step_key
from veil.studies.results import PLAIN, Results, Section
from veil.studies.store import Result
from veil.studies.study import Grid, Specs, Study
from veil.tables.attack import attack
from veil.tables.attacks import ATTACKS
from veil.tables.attacks.scene import AttackResult
from veil.tables.measures.pair import Pair
from veil.tables.measures.utility import UTILITIES
from veil.tables.mechanism import Mechanism, Release, nothing
from veil.tables.mechanisms import MECHANISMS
from veil.tables.pictures import Preview, Shown, picture_sections, preview
from veil.tables.protect import protect
from veil.tables.schema import Source, at_worst, read_schema
from veil.tables.table import Table

PATHS = ("table", "hierarchies", "schema", "population", "control")

with warnings.catch_warnings():  # every class has a 'schema'; that of classes is not needed here
    warnings.simplefilter("ignore", UserWarning)

    class TablesStudy(Study):
        """The keys of a study of tables."""

        table: Annotated[str, Field(description="file of the records")]
        identifiers: Annotated[Specs, Field(strict=False, description="columns to drop")] = ()
        qi: Annotated[Specs, Field(strict=False, description="what an attacker may know")] = ()
        confidential: Annotated[
            Specs, Field(strict=False, description="what must not be learnt")
        ] = ()
        weight: Annotated[str, Field(description="column of sampling weights")] = ""
        hierarchies: Annotated[str, Field(description="folder of hierarchies")] = ""
        schema: Annotated[str, Field(description="TOML file of roles and hierarchies")] = ""  # type: ignore[assignment]
        sep: Annotated[str, Field(description="what separates columns, if not told")] = ""
        missing: Annotated[
            Specs, Field(strict=False, description="texts that mean that a value is missing")
        ] = ()
        text: Annotated[
            Specs, Field(strict=False, description="columns of codes that look like numbers")
        ] = ()
        population: Annotated[str, Field(description="file of everybody, for attackers")] = ""
        control: Annotated[str, Field(description="file of rows that were never used")] = ""
        utility: Annotated[str, Field(description="marginals, cells, or ml(target=...)")] = (
            "marginals"
        )
        draws: Annotated[
            int, Field(ge=1, le=100, description="releases of a random method, by themselves each")
        ] = 1


def source_of(study: TablesStudy) -> Source:
    """Return what a study says of its table."""
    return Source(
        study.identifiers,
        study.qi,
        study.confidential,
        study.weight or None,
        Path(study.hierarchies) if study.hierarchies else None,
        Path(study.schema) if study.schema else None,
        study.sep or None,
        study.missing,
        study.text,
    )


def made_from(study: TablesStudy, digest: str) -> dict[str, object]:
    """Return all of a study that changes results: the contents of files, and not their names."""
    own = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in study
        if key not in Study.model_fields and key not in PATHS
    }
    files = {
        key: _digest(Path(getattr(study, key)))
        for key in ("schema", "population", "control")
        if getattr(study, key)
    }
    if study.schema:
        told = read_schema(Path(study.schema))[1]
        named = {name: path for name, path in told.items() if isinstance(path, Path)}
        files |= {f"schema {name}": _digest(path) for name, path in named.items()}
    folder = {}
    if study.hierarchies and Path(study.hierarchies).is_dir():
        listed = sorted(Path(study.hierarchies).glob("*.csv"))
        folder = {path.name: _digest(path) for path in listed}
    return {**own, **files, "table": digest, "hierarchies": folder, "seed": str(study.seed)}


def _digest(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    return file_digest(path, "sha256")


KEPT, SUCCESS = "information kept", "success"
_VERSION = 3  # of what the steps compute
_USUAL = ("linkage",)
_WEAK = "the attack does no better than who sees nothing, and says nothing of the release"
_REMEMBERED = 4  # releases that a process keeps: several steps work on each
_COMMANDS = "protect measure attack loss plane choose describe count"


class Tables(Experiment):
    """Records in tables: masked or made k-anonymous, attacked by who knows some columns, compared.

    Each release is attacked by itself: who publishes several of one table gives away more.
    """

    words: ClassVar[Vocabulary] = Vocabulary(
        title="records in tables",
        subject="record",
        subjects="records",
        size="releases",
        plain="the table itself",
        utility=Axis(KEPT, "what the release is still worth; 1 is the table itself"),
        risks=(Axis(SUCCESS, "the attacker is right about a record"),),
        better="the release keeps more of what the table says",
        families=("k-anonymity", "Microaggregation", "Generalisation", "Suppression"),
    )
    keys = TablesStudy
    mechanisms = MECHANISMS
    attackers = ATTACKS
    verbs: ClassVar[dict[str, str]] = {
        verb: f"veil.cli.tables.{verb}:{verb}" for verb in _COMMANDS.split()
    } | {"dpia": "veil.dpia.api:dpia"}
    source = "table"

    def __init__(self, study: TablesStudy, report: Report = no_progress) -> None:
        del report  # nothing takes long here
        self.study: TablesStudy = study
        if study.sizes != (1,):
            raise ParameterError(
                "The 'sizes' of a study of tables must be [1]: each release is attacked by itself;"
                " 'draws' says how often it is repeated."
            )
        table, warned = source_of(study).opened(Path(study.table))
        self.table, assumed = at_worst(table)
        self.warned = [*assumed, *([] if assumed else warned)]
        self.measure = UTILITIES.parse(study.utility)
        self.data, self.n = Path(study.table).stem, len(self.table)
        self._digest = file_digest(Path(study.table), "sha256")
        self._of = made_from(study, self._digest)
        self._released: dict[str, Release] = {}
        self._shown: dict[str, Shown] = {}

    @classmethod
    def settle(cls, study: TablesStudy, name: str, folder: Path) -> TablesStudy:
        """Make the paths absolute: workers may run elsewhere."""
        del name
        UTILITIES.parse(study.utility)
        given = {key: getattr(study, key) for key in PATHS}
        found = {key: str((folder / path).resolve()) for key, path in given.items() if path}
        return study.model_copy(update=found)

    @cached_property
    def population(self) -> Table | None:
        """Everybody, for attackers that know them."""
        return self._beside(self.study.population)

    @cached_property
    def control(self) -> Table | None:
        """Rows that were never used."""
        return self._beside(self.study.control)

    def _beside(self, path: str) -> Table | None:
        return at_worst(source_of(self.study).opened(Path(path))[0])[0] if path else None

    @cached_property
    def _order(self) -> Ids:
        """An order of the records that only who has the table can undo, for what is kept."""
        return stream(int(self._digest[:16], 16), 0).permutation(self.n)

    def _step(self, kind: str, spec: str = "", of: str = "", by: str = "") -> Step:
        """Name a step by all that changes its result."""
        made = {**self._of, "spec": spec, "of": of, "by": by}
        size = 1 if spec else 0
        return Step(kind, step_key(kind, _VERSION, made), spec, size, of, by, size)

    def plain(self) -> list[Step]:
        """Compare the table with itself, and attack it as it is."""
        attackers = self.study.all_attackers or _USUAL
        steps = [self._step("measure", by=self.measure.brief)]
        return steps + [self._step("attack", by=by) for by in attackers]

    def cells(self) -> list[Cell]:
        """Return a release for each method, compared and attacked."""
        return [
            self._cell(grid, method, value)
            for grid in self.study.mechanism
            for method, value in grid.mechanisms(MECHANISMS)
        ]

    def _cell(self, grid: Grid, method: Mechanism, value: float) -> Cell:
        spec, attackers = str(method), self.study.against(grid) or _USUAL
        release = self._step("mask", spec)
        steps = [self._step("measure", spec, release.key, self.measure.brief)]
        steps += [self._step("attack", spec, release.key, by) for by in attackers]
        return Cell(method, grid.parameter, value, 1, release, tuple(steps))

    def releases(self, spec: str) -> Iterator[Release]:
        """Yield the releases of a method: the same whoever makes them, and when."""
        method = MECHANISMS.parse(spec)
        for number in range(self.study.draws if method.random else 1):
            yield self._release(method, number)

    def _release(self, method: Mechanism, number: int) -> Release:
        key = step_key("mask", _VERSION, {**self._of, "spec": str(method), "number": number})
        if key not in self._released:
            made = protect(self.table, method, rng=stream(self.study.seed, int(key[:15], 16)))
            for old in list(self._released)[: 1 - _REMEMBERED]:
                del self._released[old]
            self._released[key] = made
        return self._released[key]

    def compute(self, step: Step, of: Result | None) -> Result:
        """Mask, compare or attack; which row is whose is never kept."""
        if of is not None and "refused" in of.data:
            return Result(data={"gap": of.data["refused"]})
        if step.kind == "mask":
            return self._masked(step.spec)
        if step.kind == "measure":
            return self._measured(step.spec)
        try:
            return self._attacked(step)
        except InputError as error:  # this attacker cannot be used against that release
            return Result(data={"gap": str(error)})

    def _masked(self, spec: str) -> Result:
        try:
            claims = [release.guarantee for release in self.releases(spec)]
        except InputError as error:  # it cannot be done with this table; others can
            return Result(data={"refused": str(error)})
        return Result(data={"claim": asdict(claims[0])})

    def _measured(self, spec: str) -> Result:
        """Compare releases, and take what is drawn of the first."""
        if not spec:
            whole = Pair.of(self.table, self.table)
            seen = preview(whole, lost=False)
            return Result({"kept": np.ones(1), **seen.arrays()}, seen.data())
        kept, first = [], None
        for release in self.releases(spec):
            pair = Pair.of(self.table, release)
            kept.append(self.measure.score(pair))
            first = first or preview(pair)
        assert first is not None  # noqa: S101 - there is at least one draw
        return Result({"kept": np.array(kept), **first.arrays()}, first.data())

    def _attacked(self, step: Step) -> Result:
        given: list[Any] = list(self.releases(step.spec)) if step.spec else [self.bare]
        rng = stream(self.study.seed, int(step.key[:15], 16))
        made = [
            attack(self.table, one, step.by, self.population, self.control, rng) for one in given
        ]
        if any(one.details.get("succeeded") is False for one in made):
            return Result(data={"gap": _WEAK})
        risks = np.stack([by_record(one, self.n, rng) for one in made])
        blind = [  # nothing, where the risk is what lies above it
            one.baseline if one.upper is None else 0.0 for one in made if one.baseline is not None
        ]
        details: dict[str, Any] = {} if not blind else {"chance": float(np.mean(blind))}
        details["worst"] = max(float(one.per_record.max(initial=0.0)) for one in made)
        if any(one.upper is not None for one in made):
            details["upper"] = max(1.0 if one.upper is None else one.upper for one in made)
        if not all(whole(one, self.n) for one in made):
            details["mean"] = [float(np.mean([getattr(one, key) for one in made]))
                               for key in ("risk", "low", "high")]  # fmt: skip
            details["cases"] = min(len(one.per_record) for one in made)
        return Result({"risks": risks.mean(axis=0)[self._order]}, details)

    @cached_property
    def bare(self) -> Table:
        """The table as it would be published without any method."""
        return self.table.without(self.table.of_role("identifier"))

    def figures(self, cell: Cell | None, step: Step, found: Result) -> Iterator[Figure]:
        """Yield what is kept, and how often an attacker is right."""
        if "gap" in found.data or step.kind == "mask":
            return
        spec = PLAIN if cell is None else step.spec
        shown = self._shown.setdefault(spec, Shown(spec))
        if step.kind == "measure":
            shown.glance = Preview.of(found.arrays, found.data)
            kept = found.arrays["kept"]
            # One figure of the whole table: the same for every record. A task of its own keeps
            # the table itself from being compared with it record by record.
            task = "" if cell is None else self.measure.name
            yield Figure("utility", KEPT, np.full(self.n, kept.mean()), task=task)
            if cell is not None:
                yield Figure("similarity", f"{self.measure.name}, by draw", kept)
        elif step.kind == "attack":
            risks = found.arrays["risks"]
            mean = None
            if "mean" in found.data:  # records of their own say nothing of a single one
                value, low, high = found.data["mean"]
                mean = Estimate(value, low, high, int(found.data["cases"]))
            single = risks if mean is None else np.full(self.n, float(mean))
            shown.risks[step.by] = np.sort(np.clip(single, 0.0, 1.0))[::-1]
            shown.worst[step.by] = float(found.data["worst"])
            task = self.measure.name if cell is None else ""
            chance = found.data.get("chance")
            upper = found.data.get("upper")
            yield Figure(
                "risk",
                SUCCESS,
                risks,
                by=step.by,
                task=task,
                chance=chance,
                mean=mean,
                upper=upper,
            )

    def claim(self, cell: Cell, made: Result) -> Guarantee:
        """Return what is proved of the release that was made, which may be more than of any."""
        del cell
        if "claim" not in made.data:
            return nothing("It cannot be done with this table.")
        return Guarantee(**made.data["claim"])

    def facts(self) -> Sequence[tuple[str, str]]:
        """Say how much there is, and what is known."""
        return [
            ("records", f"{self.n:,}"),
            ("known to the attacker", ", ".join(self.table.qi) or "nothing"),
            ("confidential", ", ".join(self.table.confidential) or "nothing"),
            ("utility", self.measure.brief),
            ("draws of a random method", f"{self.study.draws:,}"),
        ]

    def notes(self) -> Sequence[str]:
        """Say what the figures are not."""
        return [
            "Utility is one figure of a whole table: its interval in the planes is no interval"
            " over records.",
            "A risk is an average over all records; some have more, which the map of risk shows.",
            "Each release is attacked by itself. Who publishes several of one table gives away"
            " more: k-anonymity and its relatives do not compose.",
            *self.warned,
        ]

    def remarks(self, results: Results) -> Sequence[str]:
        """Say what publishing the table as it is would mean."""
        found = [row for row in results.rows if row.mechanism == PLAIN and row.kind == "risk"]
        if not found:
            return []
        top = max(found, key=lambda row: row.score)
        return [
            f"Published as it is, without identifiers, {top.attacker} would be right about"
            f" {top.score:.1%} of the {self.n:,} records."
        ]

    def sections(self, results: Results) -> Sequence[Section]:
        """Draw the table before and after: classes, shares, and the risk of records."""
        return picture_sections(self.table, self._shown, results)


def whole(found: AttackResult, n: int) -> bool:
    """Tell whether the risk of an attack is the mean of one value for each of n records.

    It is if the attack is of all records, and subtracts nothing or a baseline that is known.
    """
    return len(found.per_record) == n and bool(n) and _subtracted(found) is not None


def _subtracted(found: AttackResult) -> float | None:
    """Return the share of success that the risk does not count, 0 for all of it; None: neither."""
    mean = float(found.per_record.mean()) if len(found.per_record) else 0.0
    for base in (0.0, found.baseline):
        above = float(above_chance([mean], base)[0]) if base is not None else math.nan
        if math.isclose(max(0.0, above), found.risk, abs_tol=1e-9):
            return base
    return None


def by_record(found: AttackResult, n: int, rng: Generator) -> Floats:
    """Return a value for each record (n,) whose mean, cut at 0, is the risk of the attack.

    Where the attack subtracts a baseline, records it is wrong about have negative values. Where it
    is not of all records, or compares with controls, the values stand in for records that are not
    known: see `stand_in`.
    """
    base = _subtracted(found)
    if whole(found, n) and base is not None:
        return above_chance(found.per_record, base)
    return stand_in(Estimate(found.risk, found.low, found.high, len(found.per_record)), n, rng)
