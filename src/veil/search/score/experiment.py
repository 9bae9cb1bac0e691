"""Files of somebody's own pipeline as an `Experiment`: nothing is drawn, all is measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from veil.core.errors import InputError, LawError, ParameterError
from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.measures.effectiveness import effectiveness
from veil.search.score.knowledge import Knowledge
from veil.search.score.material import Material
from veil.search.score.points import Point
from veil.search.study.experiment import WORDS
from veil.search.study.remarks import IN_CLEAR, in_clear
from veil.search.study.study import SearchStudy
from veil.studies.experiment import Cell, Experiment, Figure, Methods, Step, Vocabulary
from veil.studies.figures import ranked
from veil.studies.store import Result
from veil.studies.study import Grid
from veil.studies.table import Results
from veil.text.api import attack
from veil.text.attacks import ATTACKS
from veil.text.attacks.log import folded
from veil.text.mechanisms.find import TEXT_MECHANISMS
from veil.text.variants import made_by

UNKNOWN = Guarantee(
    "none",
    unit="word",
    caveat="the variants were made elsewhere: what was proved of them, if anything, is not known",
)

_NOT_TOLD = (
    "it must know the mechanism, and the file does not name one of Veil's with its parameters."
)


@dataclass(frozen=True)
class Elsewhere:
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

    def __init__(self, name: str, found: Material, knows: Knowledge) -> None:
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

    def _cell(self, key: str, point: Point) -> Cell:
        made = Elsewhere(point.name, point.spec)
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

    def _attack(self, point: Point, by: str) -> Result:
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
        return [in_clear(results.rows)]
