"""Score variants and runs from any pipeline. Nothing is sampled here, only measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from veil.core.errors import InputError, LawError, ParameterError
from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.corpus.logs import read_log
from veil.corpus.trec import read_judgements
from veil.data.fetch import Report, no_progress
from veil.data.lines import require_file
from veil.measures.effectiveness import effectiveness
from veil.search.score.points import RunPoint, ScoreInput, material
from veil.search.study.experiment import WORDS
from veil.search.study.study import IN_CLEAR, SearchStudy, attacker_specs, unprotected_remarks
from veil.studies.experiment import Cell, Experiment, Figure, Methods, Step, Vocabulary
from veil.studies.figures import gather, ranked
from veil.studies.results import Results
from veil.studies.store import Result
from veil.studies.study import Grid
from veil.text.attack import attack
from veil.text.attacks import ATTACKS
from veil.text.log import QueryLog, folded
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS
from veil.text.variants import made_by
from veil.text.vectors.catalogue import load_embeddings
from veil.text.vectors.embeddings import Embeddings


@dataclass(frozen=True)
class AttackerKnowledge:
    """The attackers, with their query log and word vectors."""

    attackers: tuple[str, ...]
    log: QueryLog | None = None
    vectors: str = "glove-100d"
    notes: tuple[str, ...] = ()
    report: Report = no_progress

    @cached_property
    def space(self) -> Embeddings:
        """The word vectors, loaded when an attacker needs them."""
        return load_embeddings(self.vectors, self.report)


def knowledge(
    specs: Sequence[str],
    log: Path | None,
    texts: Sequence[str],
    *,
    vectors: str = "glove-100d",
    as_is: bool = False,
    report: Report = no_progress,
) -> AttackerKnowledge:
    """Return the attackers with their log. Missing `texts` are added to it, unless `as_is`."""
    attackers = attacker_specs(specs)
    if not attackers:
        raise ParameterError("The risk cannot be measured without an attacker. Add one.")
    needing = next((spec for spec in attackers if "log" in ATTACKS.parse(spec).needs), "")
    if not needing:
        return AttackerKnowledge(attackers, None, vectors, (), report)
    if log is None:
        raise InputError(f"The attack {needing} needs a query log. Add one with --log.")
    original = QueryLog.of(read_log(log))
    bigger, missing = original.with_queries(texts)
    end = (
        ", so an attacker cannot find them, and the risk is a lower bound."
        if as_is
        else " and were added to it."
    )
    lacking = f"{missing} of the queries were not in the log{end}"
    notes = (lacking,) if missing else ()
    return AttackerKnowledge(attackers, original if as_is else bigger, vectors, notes, report)


UNKNOWN = Guarantee(
    "none",
    unit="word",
    caveat="the variants were made elsewhere, so their guarantee, if any, is unknown",
)

_UNNAMED = (
    "it needs the mechanism, and the file does not name a mechanism of Veil with its parameters."
)


@dataclass(frozen=True)
class UnknownMechanism:
    """A mechanism that a file names, without a known guarantee."""

    name: str
    spec: str
    guarantee: Guarantee = UNKNOWN

    def __str__(self) -> str:
        return self.spec


class FileExperiment(Experiment):
    """An experiment on existing variants and runs: attackers guess, and the runs are judged."""

    words: ClassVar[Vocabulary] = WORDS
    keys = SearchStudy
    mechanisms: ClassVar[Methods] = TEXT_MECHANISMS
    seeded: ClassVar[bool] = False

    def __init__(self, name: str, inputs: ScoreInput, knows: AttackerKnowledge) -> None:
        self.material, self.knows = inputs, knows
        self.data, self.n = name, len(inputs.names)
        self._points = {self._cell_key(i): point for i, point in enumerate(inputs.points)}
        self.study = SearchStudy(
            name=name,
            mechanism=tuple(Grid(spec=point.spec) for point in inputs.points),
            attackers=knows.attackers,
        )

    @staticmethod
    def _cell_key(number: int) -> str:
        return f"protect {number}"

    def cells(self) -> list[Cell]:
        """Return one cell per point."""
        return [self._cell(key, point) for key, point in self._points.items()]

    def _cell(self, key: str, point: RunPoint) -> Cell:
        mechanism = UnknownMechanism(point.name, point.spec)
        size = self.material.sizes[point.name]
        release = Step("protect", key, point.spec, size)
        steps = [Step("search", f"search {key}", point.spec, size, key, str(point.run), size)]
        for by in self.knows.attackers:
            steps.append(Step("attack", f"{by} {key}", point.spec, size, key, by, size))
        return Cell(mechanism, point.parameter, point.value, size, release, tuple(steps))

    def plain(self) -> list[Step]:
        """Return the step of the run without protection, if there is one."""
        path = self.material.plain
        return [Step("plain", "plain", by=str(path))] if path else []

    def compute(self, step: Step, of: Result | None = None) -> Result:
        """Judge a run, or run an attack."""
        del of
        if step.kind == "protect":
            return Result(data={"variants": self.material.rows(self._points[step.key])})
        if step.kind == "attack":
            return self._attack(self._points[step.of], step.by)
        lists = self.material.lists(Path(step.by))
        return Result(effectiveness(self.material.judgements, self.material.names, lists))

    def _attack(self, point: RunPoint, by: str) -> Result:
        attacker, mechanism = ATTACKS.parse(by), None
        if {"mechanism", "space"} & attacker.needs:
            try:
                mechanism = made_by(point.table)
            except InputError:
                return Result(data={"gap": _UNNAMED})
        try:
            outcome = attack(
                self.material.rows(point),
                self.material.texts,
                self.knows.log if "log" in attacker.needs else None,
                attacker,
                mechanism=mechanism,
                space=self.knows.space if "space" in attacker.against(mechanism) else None,
                report=self.knows.report,
            )
        except (LawError, ParameterError) as error:
            return Result(data={"gap": str(error)})
        return Result.of(outcome)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the figures that a step measured."""
        del cell
        if step.kind == "protect":
            rows = zip(self.material.texts, result.data["variants"], strict=True)
            in_clear = [folded(text) in map(folded, row) for text, row in rows if row]
            yield Figure("similarity", IN_CLEAR, np.array(in_clear, dtype=np.float64), plane=False)
        elif step.kind == "attack":
            if "gap" not in result.data:
                yield from ranked(result.outcome(), step.by, WORDS)
        else:
            for measure, values in result.arrays.items():
                yield Figure("utility", measure, values, task="runs")

    def facts(self) -> Sequence[tuple[str, str]]:
        """Return the sizes of the input."""
        return (
            ("queries", f"{self.n:,}"),
            ("variants", count_of(len({point.file for point in self.material.points}), "file")),
            ("runs", count_of(len(self.material.runs), "file")),
            ("log", f"{len(self.knows.log):,} distinct queries" if self.knows.log else ""),
            ("attackers", ", ".join(self.knows.attackers)),
        )

    def notes(self) -> list[str]:
        """Return what is missing in the files."""
        return [*self._lacking(), *self.knows.notes]

    def _lacking(self) -> Iterator[str]:
        inputs = self.material
        if inputs.unjudged:
            total = self.n + inputs.unjudged
            yield (
                f"{inputs.unjudged} of {total} queries have no relevant document and were omitted."
            )
        for path in inputs.runs:
            if lost := sum(not documents for documents in inputs.lists(path)):
                yield f"{path.name} has no answer to {lost} of {self.n} queries. They count as 0."
        for point in inputs.points:
            if lost := sum(not row for row in inputs.rows(point)):
                yield f"{point} has no variants for {lost} of {self.n} queries."

    def remarks(self, results: Results) -> list[str]:
        """Return which configurations sent queries unprotected."""
        return [unprotected_remarks(results.rows)]


def score(
    points: Sequence[RunPoint],
    qrels: Path,
    *,
    log: Path | None = None,
    attackers: Sequence[str] = ("inference",),
    plain: Path | None = None,
    vectors: str = "glove-100d",
    as_is: bool = False,
    name: str = "",
    report: Report = no_progress,
) -> Results:
    """Return the risk of variants under attack, and the utility of runs by judgements.

    Parameters
    ----------
    points
        Variants with their runs: see `veil.search.score.points`.
    qrels
        Judgements in TREC's format.
    log, attackers
        The attackers' query log, and the specs of the attacks.
    plain
        Run of the same pipeline without protection, for comparison.
    as_is
        Do not add missing originals to the log. The risk is then a lower bound.
    name
        Name of the queries in the report. Default: the name of the judgements.
    """
    require_file(qrels, "judgements")
    judgements = read_judgements(qrels)
    if not judgements:
        raise InputError(
            f"{qrels.name} is empty. It must contain judgements: query 0 document grade."
        )
    inputs = material(points, judgements, qrels.name, plain)
    knows = knowledge(attackers, log, inputs.texts, vectors=vectors, as_is=as_is, report=report)
    experiment = FileExperiment(name or qrels.name.partition(".")[0], inputs, knows)
    cells, plain_steps = experiment.cells(), experiment.plain()
    steps: list[Step] = [*plain_steps]
    for cell in cells:
        steps += [cell.release, *cell.steps]
    results: dict[str, Result] = {}
    for number, step in enumerate(steps):
        report(f"{step.kind} {step.spec}".strip(), number, len(steps))
        results[step.key] = experiment.compute(step)
    return gather(experiment, cells, plain_steps, results)
