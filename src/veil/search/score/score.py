"""Score variants and runs of somebody's own pipeline: nothing is drawn, all is measured."""

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
    """Who attacks, and with what."""

    attackers: tuple[str, ...]
    log: QueryLog | None = None
    vectors: str = "glove-100d"
    notes: tuple[str, ...] = ()
    report: Report = no_progress

    @cached_property
    def space(self) -> Embeddings:
        """The word vectors, opened when an attacker asks for them."""
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
    """Read the log; queries that it lacks are added to it, which is said, unless `as_is`."""
    attackers = attacker_specs(specs)
    if not attackers:
        raise ParameterError("There is no risk without an attacker; name one.")
    asking = next((one for one in attackers if "log" in ATTACKS.parse(one).needs), "")
    if not asking:
        return AttackerKnowledge(attackers, None, vectors, (), report)
    if log is None:
        raise InputError(f"The {asking} attacker needs a log of queries; name it with --log.")
    given = QueryLog.of(read_log(log))
    bigger, missing = given.with_queries(texts)
    end = "an attacker cannot find them, and the risk is a lower bound" if as_is else "added to it"
    lacking = f"{missing} of the queries were not in the log: {end}."
    notes = (lacking,) if missing else ()
    return AttackerKnowledge(attackers, given if as_is else bigger, vectors, notes, report)


UNKNOWN = Guarantee(
    "none",
    unit="word",
    caveat="the variants were made elsewhere: what was proved of them, if anything, is not known",
)

_NOT_TOLD = (
    "it must know the mechanism, and the file does not name one of Veil's with its parameters."
)


@dataclass(frozen=True)
class UnknownMechanism:
    """A mechanism of which a file tells the name, and nobody what is proved."""

    name: str
    spec: str
    guarantee: Guarantee = UNKNOWN

    def __str__(self) -> str:
        return self.spec


class FileExperiment(Experiment):
    """Variants and runs that are there already; attackers guess, and the runs are judged."""

    words: ClassVar[Vocabulary] = WORDS
    keys = SearchStudy
    mechanisms: ClassVar[Methods] = TEXT_MECHANISMS
    seeded: ClassVar[bool] = False

    def __init__(self, name: str, found: ScoreInput, knows: AttackerKnowledge) -> None:
        self.material, self.knows = found, knows
        self.data, self.n = name, len(found.names)
        self._points = {self._cell_key(i): point for i, point in enumerate(found.points)}
        self.study = SearchStudy(
            name=name,
            mechanism=tuple(Grid(spec=point.spec) for point in found.points),
            attackers=knows.attackers,
        )

    @staticmethod
    def _cell_key(number: int) -> str:
        return f"protect {number}"

    def cells(self) -> list[Cell]:
        """Return a cell for each point."""
        return [self._cell(key, point) for key, point in self._points.items()]

    def _cell(self, key: str, point: RunPoint) -> Cell:
        made = UnknownMechanism(point.name, point.spec)
        size = self.material.sizes[point.name]
        release = Step("protect", key, point.spec, size)
        steps = [Step("search", f"search {key}", point.spec, size, key, str(point.run), size)]
        for by in self.knows.attackers:
            steps.append(Step("attack", f"{by} {key}", point.spec, size, key, by, size))
        return Cell(made, point.parameter, point.value, size, release, tuple(steps))

    def plain(self) -> list[Step]:
        """Return the run without protection, if there is one."""
        path = self.material.plain
        return [Step("plain", "plain", by=str(path))] if path else []

    def compute(self, step: Step, of: Result | None = None) -> Result:
        """Judge a run, or let an attacker guess."""
        del of
        if step.kind == "protect":
            return Result(data={"variants": self.material.rows(self._points[step.key])})
        if step.kind == "attack":
            return self._attack(self._points[step.of], step.by)
        lists = self.material.lists(Path(step.by))
        return Result(effectiveness(self.material.judgements, self.material.names, lists))

    def _attack(self, point: RunPoint, by: str) -> Result:
        attacker, known = ATTACKS.parse(by), None
        if {"mechanism", "space"} & attacker.needs:
            try:
                known = made_by(point.table)
            except InputError:
                return Result(data={"gap": _NOT_TOLD})
        try:
            outcome = attack(
                self.material.rows(point),
                self.material.texts,
                self.knows.log if "log" in attacker.needs else None,
                attacker,
                mechanism=known,
                space=self.knows.space if "space" in attacker.against(known) else None,
                report=self.knows.report,
            )
        except (LawError, ParameterError) as error:
            return Result(data={"gap": str(error)})
        return Result.of(outcome)

    def figures(self, cell: Cell | None, step: Step, found: Result) -> Iterator[Figure]:
        """Yield what a step measured."""
        del cell
        if step.kind == "protect":
            rows = zip(self.material.texts, found.data["variants"], strict=True)
            sent = [folded(text) in map(folded, row) for text, row in rows if row]
            yield Figure("similarity", IN_CLEAR, np.array(sent, dtype=np.float64), plane=False)
        elif step.kind == "attack":
            if "gap" not in found.data:
                yield from ranked(found.outcome(), step.by, WORDS)
        else:
            for measure, values in found.arrays.items():
                yield Figure("utility", measure, values, task="runs")

    def facts(self) -> Sequence[tuple[str, str]]:
        """Return the sizes of what was scored."""
        return (
            ("queries", f"{self.n:,}"),
            ("variants", count_of(len({one.file for one in self.material.points}), "file")),
            ("runs", count_of(len(self.material.runs), "file")),
            ("log", f"{len(self.knows.log):,} distinct queries" if self.knows.log else ""),
            ("attackers", ", ".join(self.knows.attackers)),
        )

    def notes(self) -> list[str]:
        """Return what the files lacked."""
        return [*self._lacking(), *self.knows.notes]

    def _lacking(self) -> Iterator[str]:
        found = self.material
        if found.unjudged:
            total = self.n + found.unjudged
            yield (
                f"Of {found.unjudged} of {total} queries no relevant document is known: they are"
                " left out."
            )
        for path in found.runs:
            if lost := sum(not documents for documents in found.lists(path)):
                yield f"{path.name} has no answer to {lost} of {self.n} queries: they count 0."
        for point in found.points:
            if lost := sum(not row for row in found.rows(point)):
                yield f"{point} has no variants of {lost} of {self.n} queries."

    def remarks(self, results: Results) -> list[str]:
        """Say where queries left in clear."""
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
    """Measure the risk of variants by attackers, and the utility of runs by judgements.

    Parameters
    ----------
    points
        Variants with their runs: see `veil.search.score.points`.
    qrels
        Judgements as TREC writes them.
    log, attackers
        Queries that attackers have; who attacks.
    plain
        Run of the same pipeline without protection, to compare with.
    as_is
        Whether originals that the log lacks stay out of it: the risk is then a lower bound.
    name
        What the queries are called in the report; the name of the judgements by default.
    """
    require_file(qrels, "judgements")
    judgements = read_judgements(qrels)
    if not judgements:
        raise InputError(
            f"{qrels.name} is empty; it must hold judgements: query 0 document grade."
        )
    found = material(points, judgements, qrels.name, plain)
    knows = knowledge(attackers, log, found.texts, vectors=vectors, as_is=as_is, report=report)
    experiment = FileExperiment(name or qrels.name.partition(".")[0], found, knows)
    cells, plain_steps = experiment.cells(), experiment.plain()
    steps: list[Step] = [*plain_steps]
    for cell in cells:
        steps += [cell.release, *cell.steps]
    made: dict[str, Result] = {}
    for number, step in enumerate(steps):
        report(f"{step.kind} {step.spec}".strip(), number, len(steps))
        made[step.key] = experiment.compute(step)
    return gather(experiment, cells, plain_steps, made)
