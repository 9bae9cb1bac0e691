"""Studies of mechanisms for tables."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.estimate import Estimate, bootstrap, exactly, stand_in
from veil.core.guarantee import Guarantee
from veil.core.outcome import Outcome
from veil.core.rng import stream
from veil.core.types import Floats, Ids
from veil.core.verb import KeepCommas
from veil.data.fetch import Report
from veil.studies.experiment import (
    Axis,
    Cell,
    Experiment,
    Figure,
    Step,
    Vocabulary,
    path_digest,
    step_key,
)
from veil.studies.results import PLAIN, Results, Section
from veil.studies.store import Result
from veil.studies.study import Specs, Study
from veil.tables.attack import attack
from veil.tables.attacks import ATTACKS
from veil.tables.measures.pair import Pair
from veil.tables.measures.utility import UTILITIES, Utility
from veil.tables.mechanism import Mechanism, Release, nothing, protect
from veil.tables.mechanisms import MECHANISMS
from veil.tables.pictures import Preview, Shown, picture_sections, preview
from veil.tables.presets import ladder
from veil.tables.schema import Source, at_worst, read_schema
from veil.tables.table import Table

with warnings.catch_warnings():  # every class has a 'schema'; that of classes is not needed here
    warnings.simplefilter("ignore", UserWarning)

    class TablesStudy(Study):
        """The keys of a study of tables."""

        table: Annotated[str, Field(description="file of the records")]
        identifiers: Annotated[
            Specs, Field(strict=False, description="columns to remove from every release")
        ] = ()
        qi: Annotated[
            Specs,
            Field(
                strict=False,
                description="columns that an attacker may know; by default all without a role",
            ),
        ] = ()
        confidential: Annotated[
            Specs, Field(strict=False, description="columns that an attacker must not learn")
        ] = ()
        weight: Annotated[str, Field(description="column of sampling weights")] = ""
        hierarchies: Annotated[str, Field(description="folder of hierarchies")] = ""
        schema: Annotated[str, Field(description="TOML file of roles and hierarchies")] = ""  # type: ignore[assignment]
        sep: Annotated[
            str, Field(description="character between columns, if it cannot be detected")
        ] = ""
        missing: Annotated[
            Specs,
            Field(strict=False, description="text that stands for a missing value; repeatable"),
            KeepCommas(),
        ] = ()
        text: Annotated[
            Specs, Field(strict=False, description="columns of codes that look like numbers")
        ] = ()
        population: Annotated[str, Field(description="file of the population, for attacks")] = ""
        control: Annotated[str, Field(description="file of rows that were never used")] = ""
        utility: Annotated[
            str, Field(description="measure of utility: marginals, cells, or ml(target=...)")
        ] = "marginals"
        draws: Annotated[
            int, Field(ge=1, le=100, description="releases of each randomised mechanism")
        ] = 1


def source_of(study: TablesStudy) -> Source:
    """Return the roles and other facts about the table of a study."""
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


@dataclass(frozen=True, eq=False)
class TablesMaterial:
    """The table to protect, what attackers know in addition, and the measure of utility."""

    table: Table
    name: str
    measure: Utility
    population: Table | float | None = None
    control: Table | None = None
    warnings: Sequence[str] = ()
    digest: str = ""


KEPT, SUCCESS = "information kept", "success"
_WEAK = "the attack is no better than chance, and shows nothing about the release"


class Tables(Experiment):
    """Tables of records or counts: protect them, attack them and measure what is lost.

    Each release is attacked separately: several releases of one table reveal more.
    """

    words: ClassVar[Vocabulary] = Vocabulary(
        title="records in tables",
        subject="record",
        subjects="records",
        size="releases",
        plain="the table itself",
        utility=Axis(KEPT, "utility of the release; 1 is the table itself"),
        risks=(Axis(SUCCESS, "the attack succeeds on a record"),),
        better="the release preserves more information",
        families=("k-anonymity", "Microaggregation", "Generalisation", "Suppression"),
    )
    keys = TablesStudy
    mechanisms = MECHANISMS
    attackers = ATTACKS
    verbs: ClassVar[dict[str, str]] = {
        "protect": "veil.tables.api:protect",
        "attack": "veil.tables.api:attack",
        "measure": "veil.tables.api:measure",
        "loss": "veil.tables.api:loss",
        "describe": "veil.tables.api:describe",
        "count": "veil.tables.api:count",
        "dpia": "veil.dpia.api:dpia",
    }
    source = "table"

    domain = "tables"
    version = 3
    paths = ("table", "hierarchies", "schema", "population", "control")
    digested = ("table", "schema", "population", "control")
    single = "each release is attacked separately; 'draws' is the number of repetitions"
    release_kind = "mask"
    usual = ("linkage",)
    attacks_plain = True
    kept = 4

    @classmethod
    @override
    def read(cls, study: TablesStudy, report: Report) -> TablesMaterial:
        del report  # nothing takes long here
        table, warned = source_of(study).opened(Path(study.table))
        table, assumed = at_worst(table)
        population, control = (
            at_worst(source_of(study).opened(Path(path))[0])[0] if path else None
            for path in (study.population, study.control)
        )
        return TablesMaterial(
            table,
            Path(study.table).stem,
            UTILITIES.parse(study.utility),
            population,
            control,
            [*assumed, *([] if assumed else warned)],
            path_digest(study.table),
        )

    @override
    def use(self, material: TablesMaterial) -> None:
        self.material, self.table, self.measure = material, material.table, material.measure
        self.data, self.n = material.name, len(material.table)
        self._digest = material.digest or self.content(material)
        self._shown: dict[str, Shown] = {}

    @classmethod
    @override
    def inputs_of(cls, study: TablesStudy, material: TablesMaterial) -> dict[str, object]:
        files = {}
        if study.schema:
            hierarchies = read_schema(Path(study.schema))[1]
            paths = {name: path for name, path in hierarchies.items() if isinstance(path, Path)}
            files = {f"schema {name}": path_digest(str(path)) for name, path in paths.items()}
        folder = {}
        if study.hierarchies and Path(study.hierarchies).is_dir():
            listed = sorted(Path(study.hierarchies).glob("*.csv"))
            folder = {path.name: path_digest(str(path)) for path in listed}
        return {**super().inputs_of(study, material), **files, "hierarchies": folder}

    @classmethod
    @override
    def settle(cls, study: TablesStudy, name: str, folder: Path) -> TablesStudy:
        UTILITIES.parse(study.utility)
        settled: TablesStudy = super().settle(study, name, folder)
        return settled

    @classmethod
    @override
    def suggest(cls, keys: Mapping[str, Any]) -> Sequence[Mapping[str, object]]:
        study = TablesStudy.model_construct(**keys)
        return ladder(at_worst(source_of(study).opened(study.table)[0])[0])

    @cached_property
    def _order(self) -> Ids:
        """Order of the records in stored results, which only owners of the table can undo."""
        return stream(int(self._digest[:16], 16), 0).permutation(self.n)

    @override
    def comparisons(self, mechanism: object) -> list[tuple[str, str]]:
        del mechanism
        return [("measure", self.measure.brief)]

    def releases(self, spec: str) -> Iterator[Release]:
        """Yield the releases of a mechanism, which are reproducible."""
        method: Mechanism = self.mechanisms.parse(spec)
        for number in range(self.study.draws if method.random else 1):
            changes = {**self.inputs, "spec": str(method), "number": number}
            key = step_key("mask", self.version, changes)
            rng = stream(self.study.seed, int(key[:15], 16))
            yield self.remembered(key, partial(protect, self.table, method, rng=rng))

    @override
    def compute(self, step: Step, of: Result | None) -> Result:
        if of is not None and "refused" in of.data:
            return Result(data={"gap": of.data["refused"]})
        if step.kind == "mask":
            return self._masked(step.spec)
        if step.kind == "measure":
            return self._measured(step.spec)
        try:
            return self._attacked(step)
        except InputError as error:  # this attack does not apply to the release
            return Result(data={"gap": str(error)})

    def _masked(self, spec: str) -> Result:
        claims, removed = [], []
        try:
            for release in self.releases(spec):
                claims.append(release.guarantee)
                removed.append(0.0 if release.rows is None else 1 - len(release) / self.n)
        except InputError as error:  # the mechanism does not apply to this table
            return Result(data={"refused": str(error)})
        share = max(0.0, float(np.mean(removed)))
        return Result(data={"claim": asdict(claims[0]), "removed": share})

    def _measured(self, spec: str) -> Result:
        if not spec:
            whole = Pair.of(self.table, self.table)
            whole_preview = preview(whole, lost=False)
            return Result({"kept": np.ones(1), **whole_preview.arrays()}, whole_preview.data())
        scores, first = [], None
        for release in self.releases(spec):
            pair = Pair.of(self.table, release)
            scores.append(self.measure.score(pair))
            first = first or preview(pair)
        assert first is not None  # noqa: S101 - there is at least one draw
        return Result({"kept": np.array(scores), **first.arrays()}, first.data())

    def _attacked(self, step: Step) -> Result:
        assert self.attackers is not None  # noqa: S101 - tables have attackers
        by, rng = self.attackers.parse(step.by), self.draws(step)
        extra = self.material.population, self.material.control
        releases: Iterable[Any] = self.releases(step.spec) if step.spec else [self.bare]
        outcomes = [attack(self.table, release, by, *extra, rng) for release in releases]
        if (
            any(outcome.details.get("succeeded") is False for outcome in outcomes)
            and not self.in_memory
        ):
            return Result(data={"gap": _WEAK})
        risks = np.stack([by_record(outcome, self.n, rng) for outcome in outcomes])
        blind = [  # 0 if the risk is already the excess over it
            outcome.baseline if outcome.upper is None else 0.0
            for outcome in outcomes
            if outcome.baseline is not None
        ]
        details: dict[str, Any] = {} if not blind else {"chance": float(np.mean(blind))}
        details["worst"] = max(float(outcome.per_record.max(initial=0.0)) for outcome in outcomes)
        if any(outcome.upper is not None for outcome in outcomes):
            details["upper"] = max(
                1.0 if outcome.upper is None else outcome.upper for outcome in outcomes
            )
        if not all(whole(outcome, self.n) for outcome in outcomes):
            details["mean"] = [float(np.mean([getattr(outcome, key) for outcome in outcomes]))
                               for key in ("risk", "low", "high")]  # fmt: skip
            details["cases"] = min(len(outcome.per_record) for outcome in outcomes)
        return Result({"risks": risks.mean(axis=0)[self._order]}, details)

    @cached_property
    def bare(self) -> Table:
        """The table as it would be published without a mechanism."""
        return self.table.without(self.table.of_role("identifier"))

    @override
    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        if "gap" in result.data or step.kind == "mask":
            return
        spec = PLAIN if cell is None else step.spec
        shown = self._shown.setdefault(spec, Shown(spec))
        if step.kind == "measure":
            shown.glance = Preview.of(result.arrays, result.data)
            utility = result.arrays["kept"]
            # One figure for the whole table: the same for every record. A separate task keeps the
            # table itself from being compared with it record by record.
            task = "" if cell is None else self.measure.name
            # Its interval is over draws.
            mean = bootstrap(utility) if len(utility) > 1 else exactly(float(utility[0]), self.n)
            yield Figure("utility", KEPT, np.full(self.n, mean), task=task, mean=mean)
            if cell is not None:
                yield Figure("similarity", f"{self.measure.name}, by draw", utility)
        elif step.kind == "attack":
            risks = result.arrays["risks"]
            mean = None
            if "mean" in result.data:  # its records are not those of the table
                value, low, high = result.data["mean"]
                mean = Estimate(value, low, high, int(result.data["cases"]))
            single = risks if mean is None else np.full(self.n, float(mean))
            shown.risks[step.by] = np.sort(np.clip(single, 0.0, 1.0))[::-1]
            shown.worst[step.by] = float(result.data["worst"])
            task = self.measure.name if cell is None else ""
            chance = result.data.get("chance")
            upper = result.data.get("upper")
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

    @override
    def claim(self, cell: Cell, release: Result) -> Guarantee:
        del cell
        if "claim" not in release.data:
            return nothing("It cannot be done with this table.")
        return Guarantee(**release.data["claim"])

    @override
    def details(self, cell: Cell, release: Result, attacked: Result) -> dict[str, Any]:
        del cell, attacked
        return {"removed": float(release.data.get("removed", 0.0))}

    @override
    def facts(self) -> Sequence[tuple[str, str]]:
        return [
            ("records", f"{self.n:,}"),
            ("known to the attacker", ", ".join(self.table.qi) or "nothing"),
            ("confidential", ", ".join(self.table.confidential) or "nothing"),
            ("utility", self.measure.brief),
            ("draws of a random method", f"{self.study.draws:,}"),
        ]

    @override
    def notes(self) -> Sequence[str]:
        return [
            "Utility is one figure for a whole table. Its interval is over draws, not over"
            " records; a single release has no interval.",
            "A risk is an average over all records. The risk map shows records with a higher one.",
            "Each release is attacked separately. Several releases of one table reveal more:"
            " k-anonymity and its relatives do not compose.",
            *self.material.warnings,
        ]

    @override
    def remarks(self, results: Results) -> Sequence[str]:
        risks = [row for row in results.rows if row.mechanism == PLAIN and row.kind == "risk"]
        if not risks:
            return []
        top = max(risks, key=lambda row: row.score)
        return [
            f"Published without protection, except for removed identifiers, {top.attacker} would"
            " be"
            f" right about {top.score:.1%} of the {self.n:,} records."
        ]

    @override
    def sections(self, results: Results) -> Sequence[Section]:
        return picture_sections(self.table, self._shown, results)


def whole(outcome: Outcome, n: int) -> bool:
    """Return whether the risk of an attack is the mean of one value for each of n records.

    It is if the attack is on all records, and subtracts nothing or a known baseline.
    """
    return bool(n) and len(outcome) == n and outcome.gains is not None


def by_record(outcome: Outcome, n: int, rng: Generator) -> Floats:
    """Return a value per record (n,) whose mean, clipped at 0, is the risk of the attack.

    If the attack subtracts a baseline, records that it gets wrong have negative values. If it does
    not cover all records, or compares with controls, the values are sampled by `stand_in`.
    """
    gains = outcome.gains
    return gains if whole(outcome, n) and gains is not None else stand_in(outcome.risk, n, rng)
