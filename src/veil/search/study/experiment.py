"""Private search as an `Experiment` of `veil.studies`."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from veil.core.component import Component
from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.data.fetch import Report, no_progress
from veil.drawing.markup import join
from veil.search.study.material import StudyMaterial, absolute
from veil.search.study.steps import (
    AS_DEEP,
    UNION,
    cells,
    compute,
    facts,
    notes,
    plain_steps,
)
from veil.search.study.study import (
    IN_CLEAR,
    SearchStudy,
    attacker_specs,
    encoder_spec,
    engine_specs,
    unprotected_remarks,
)
from veil.studies.experiment import Axis, Cell, Experiment, Figure, Methods, Step, Vocabulary
from veil.studies.figures import ranked
from veil.studies.results import PLAIN, Example, Results, Row
from veil.studies.store import Result
from veil.studies.study import Grid, locate_errors, short_spec
from veil.text.attacks import ATTACKS
from veil.text.log import folded
from veil.text.mechanisms.catalogue import TEXT_MECHANISMS
from veil.text.mechanisms.mechanism import QueryMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.text.mechanisms.queries.scramble import whole_cost

WORDS = Vocabulary(
    title="private search",
    subject="query",
    subjects="queries",
    size="variants",
    plain="plain search",
    utility=Axis("nDCG@10", "nDCG@10 of the results, ordered by the true query"),
    better="the search results are better",
    data="collection",
    task="engine",
    families=("Cover groups", "Sampling", "Embedding perturbation", "Heuristics"),
    elsewhere={"vickreycmp": "vickrey", "vickreymhl": "vickrey", "scramble": "aea"},
    apart=("linkage", "session", "shortlist"),
)
_EXAMPLES = 3  # queries shown for a configuration, and variants of each


class SearchExperiment(Experiment):
    """Protect queries, search with their variants, and attack the variants."""

    words: ClassVar[Vocabulary] = WORDS
    keys = SearchStudy
    mechanisms: ClassVar[Methods] = TEXT_MECHANISMS
    attackers: ClassVar[Methods | None] = ATTACKS

    def __init__(self, study: SearchStudy, report: Report = no_progress) -> None:
        self.study: SearchStudy = study
        self.bench = StudyMaterial(study, report)

    @property
    def data(self) -> str:  # type: ignore[override]
        """The name of the collection, which this opens."""
        return self.bench.collection.name

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        """The number of queries."""
        return len(self.bench.texts)

    @classmethod
    def settle(cls, study: Any, name: str, folder: Path) -> SearchStudy:  # noqa: ANN401 - its keys
        """Make paths absolute, and normalise specs."""
        settled: dict[str, Any] = {
            key: absolute(getattr(study, key), key, name, folder)
            for key in ("collection", "vectors", "log", "universe")
        }
        with locate_errors(f"In {name}, 'engine'"):
            settled["engine"] = engine_specs(study.engine)
        if study.encoder != "none":
            with locate_errors(f"In {name}, 'encoder'"):
                settled["encoder"] = encoder_spec(study.encoder)
        resolved: SearchStudy = study.model_copy(update=settled)
        return resolved

    @classmethod
    def settle_grid(cls, grid: Grid, where: str, folder: Path) -> Grid:
        """Make the paths in a mechanism's spec absolute."""
        first, _ = next(grid.mechanisms(TEXT_MECHANISMS))
        if index := getattr(first, "index", ""):
            placed = first.model_copy(update={"index": absolute(index, "index", where, folder)})
            return grid.model_copy(update={"spec": short_spec(placed, leave=grid.parameter)})
        if isinstance(first, Cover):
            placed = first.model_copy(
                update={"table": absolute(first.table, "table", where, folder)}
            )
            return grid.model_copy(update={"spec": short_spec(placed, leave=grid.parameter)})
        return grid

    @classmethod
    def add_declared_attackers(cls, grid: Grid) -> Grid:
        """Add the attackers that a mechanism declares to the default attackers."""
        declared = TEXT_MECHANISMS.get(grid.spec.partition("(")[0].strip()).foes
        usual: tuple[str, ...] = cls.keys.model_fields["attackers"].default
        if grid.attackers is not None or set(declared) <= set(usual):
            return grid
        return grid.model_copy(update={"attackers": (*usual, *declared)})

    @classmethod
    def attacker_specs(cls, attackers: Sequence[str]) -> tuple[str, ...]:
        """Normalise the specs of attackers, including their encoders."""
        return attacker_specs(attackers)

    def trying(
        self, mechanisms: Sequence[str | Component], attackers: Sequence[str | Component] = ()
    ) -> Self:
        """Return the experiment with other mechanisms and attackers, which must be registered."""
        return type(self)(super().trying(mechanisms, attackers).study)

    def cells(self) -> list[Cell]:
        """Return one cell per mechanism, value and number of variants."""
        return cells(self.bench)

    def plain(self) -> list[Step]:
        """Return the steps of plain search, one per engine."""
        return plain_steps(self.bench)

    def prepare(self, missing: Sequence[Step]) -> None:
        """Create tables, indexes, vectors and the attackers' data on disk."""
        for step in missing:
            if step.kind == "protect":
                self.bench.mechanism(step.spec, step.size)
        for engine in dict.fromkeys(s.by for s in missing if s.kind in ("plain", "search")):
            self.bench.reranker(engine) or self.bench.engine(engine)
        attacked: dict[str, dict[str, None]] = {}
        for step in missing:
            if step.kind == "attack":
                attacked.setdefault(step.by, {})[step.spec] = None
        for attacker, specs in attacked.items():
            self.bench.prepare(attacker, list(specs))

    def compute(self, step: Step, of: Result | None) -> Result:
        """Return the result of a step."""
        return compute(self.bench, step, of)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield the figures that a step measured."""
        del cell
        if step.kind == "protect":
            rows = zip(self.bench.texts, result.data["variants"], strict=True)
            in_clear = [folded(text) in map(folded, row) for text, row in rows if row]
            yield Figure("similarity", IN_CLEAR, np.array(in_clear, dtype=np.float64), plane=False)
        elif step.kind == "attack":
            yield from self._attacked(step, result)
        else:
            kind = "similarity" if step.kind == "similarity" else "utility"
            task = "" if kind == "similarity" else step.by
            for measure, values in result.arrays.items():
                yield Figure(kind, measure, values, task=task)

    def _attacked(self, step: Step, result: Result) -> Iterator[Figure]:
        whole = step.count == step.size
        if "gap" in result.data or (not whole and step.count in self.study.sizes):
            return  # no result, or a separate cell has that number of variants
        yield from ranked(result.outcome(), step.by, WORDS, whole=whole)

    def cost(self, cell: Cell, release: Result) -> Guarantee:
        """Return the cost of all variants of a query with the median number of words."""
        mechanism = self.bench.mechanism(str(cell.mechanism), cell.size)
        if isinstance(mechanism, QueryMechanism) and mechanism.whole:
            return whole_cost(mechanism.guarantee, 1)
        words = release.arrays["protected"]
        usual = int(np.median(words)) if len(words) else 0
        size = f"{count_of(usual, 'word')} x {count_of(cell.size, 'variant')}"
        return cell.mechanism.guarantee.compose(usual * cell.size, f"query ({size})")

    def examples(self, cell: Cell, release: Result) -> Iterator[Example]:
        """Yield the first queries with variants, and some of their variants."""
        shown = 0
        for text, row in zip(self.bench.texts, release.data["variants"], strict=True):
            if row and shown < _EXAMPLES:
                shown += 1
                variants = tuple(list(dict.fromkeys(row))[:_EXAMPLES])
                yield Example(str(cell.mechanism), text, variants)

    def facts(self) -> list[tuple[str, str]]:
        """Return versions and sizes."""
        return list(facts(self.bench))

    def notes(self) -> list[str]:
        """Return how many queries were missing in the log."""
        return list(notes(self.bench))

    def warnings(self, results: Results) -> list[str]:
        """Warn if no attacker knows how the mechanisms work."""
        tried = {row.attacker for row in results.rows if row.kind in ("risk", "recovery")}
        if not tried or any("mechanism" in ATTACKS.parse(spec).needs for spec in tried):
            return []
        return [
            f"No attacker ({', '.join(sorted(tried))}) knows how the mechanisms work, so every"
            " risk is a lower bound, and risks of different mechanisms are not comparable. Add"
            " 'bayes' to the attackers."
        ]

    def remarks(self, results: Results) -> list[str]:
        """Return which configurations send queries nearly unprotected, and fair baselines."""
        return [unprotected_remarks(results.rows), *_fair_baselines(results.rows, self.study.k)]


def _fair_baselines(rows: Sequence[Row], k: int) -> Iterator[str]:
    """Yield the utility of plain search if it re-ranks as many documents as the best variants."""
    scores = {(row.task, row.spec, row.size, row.measure): row.score for row in rows}
    for task in dict.fromkeys(row.task for row in rows if row.measure == AS_DEEP):
        here = [row for row in rows if row.task == task and row.measure == WORDS.utility.name]
        best = max(
            (row for row in here if row.mechanism != PLAIN),
            key=lambda row: row.score,
            default=None,
        )
        if best is None:
            continue
        cell = (task, best.spec, best.size)
        baseline = next((row.score for row in here if row.mechanism == PLAIN), float("nan"))
        yield join(
            f"{task}: plain search re-ranks {count_of(k, 'document')}, while the variants return"
            f" more: {scores[*cell, UNION]:,.0f} with {best.spec} ({best.size} variants, nDCG@10"
            f" {best.score:.3f}). Plain search has nDCG@10 {baseline:.3f}, and"
            f" {scores[*cell, AS_DEEP]:.3f} if it re-ranks as many."
        )
