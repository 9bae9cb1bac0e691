"""Private search as an `Experiment`: what the loop of `veil.studies` asks of it."""

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
_EXAMPLES = 3  # queries of a configuration, and variants of each


class SearchExperiment(Experiment):
    """Queries become variants; engines answer them, attackers guess the query behind them."""

    words: ClassVar[Vocabulary] = WORDS
    keys = SearchStudy
    mechanisms: ClassVar[Methods] = TEXT_MECHANISMS
    attackers: ClassVar[Methods | None] = ATTACKS

    def __init__(self, study: SearchStudy, report: Report = no_progress) -> None:
        self.study: SearchStudy = study
        self.bench = StudyMaterial(study, report)

    @property
    def data(self) -> str:  # type: ignore[override]
        """The name of the collection, which is opened then."""
        return self.bench.collection.name

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        """The number of queries."""
        return len(self.bench.texts)

    @classmethod
    def settle(cls, study: Any, name: str, folder: Path) -> SearchStudy:  # noqa: ANN401 - its keys
        """Make paths absolute and write specs in one way."""
        settled: dict[str, Any] = {
            key: absolute(getattr(study, key), key, name, folder)
            for key in ("collection", "vectors", "log", "universe")
        }
        with locate_errors(f"In {name}, 'engine'"):
            settled["engine"] = engine_specs(study.engine)
        if study.encoder != "none":
            with locate_errors(f"In {name}, 'encoder'"):
                settled["encoder"] = encoder_spec(study.encoder)
        made: SearchStudy = study.model_copy(update=settled)
        return made

    @classmethod
    def settle_grid(cls, grid: Grid, where: str, folder: Path) -> Grid:
        """Make the path of a mechanism's own documents absolute."""
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
        """Add the attackers that a mechanism declares to the default ones."""
        foes = TEXT_MECHANISMS.get(grid.spec.partition("(")[0].strip()).foes
        usual: tuple[str, ...] = cls.keys.model_fields["attackers"].default
        if grid.attackers is not None or set(foes) <= set(usual):
            return grid
        return grid.model_copy(update={"attackers": (*usual, *foes)})

    @classmethod
    def attacker_specs(cls, attackers: Sequence[str]) -> tuple[str, ...]:
        """Write the encoder of an attacker in one way, too."""
        return attacker_specs(attackers)

    def trying(
        self, mechanisms: Sequence[str | Component], attackers: Sequence[str | Component] = ()
    ) -> Self:
        """Open the study with other mechanisms and attackers, which must be registered."""
        return type(self)(super().trying(mechanisms, attackers).study)

    def cells(self) -> list[Cell]:
        """Return a cell for each mechanism, value and number of variants."""
        return cells(self.bench)

    def plain(self) -> list[Step]:
        """Return the searches without any protection, one per engine."""
        return plain_steps(self.bench)

    def prepare(self, missing: Sequence[Step]) -> None:
        """Have tables, indexes, vectors and what attackers need on disk."""
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
        """Protect, search, compare or attack."""
        return compute(self.bench, step, of)

    def figures(self, cell: Cell | None, step: Step, result: Result) -> Iterator[Figure]:
        """Yield what a step measured."""
        del cell
        if step.kind == "protect":
            rows = zip(self.bench.texts, result.data["variants"], strict=True)
            sent = [folded(text) in map(folded, row) for text, row in rows if row]
            yield Figure("similarity", IN_CLEAR, np.array(sent, dtype=np.float64), plane=False)
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
            return  # it cannot work there, or a cell of its own has that number of variants
        yield from ranked(result.outcome(), step.by, WORDS, whole=whole)

    def cost(self, cell: Cell, release: Result) -> Guarantee:
        """Return what all variants of a query of the usual length cost."""
        mechanism = self.bench.mechanism(str(cell.mechanism), cell.size)
        if isinstance(mechanism, QueryMechanism) and mechanism.whole:
            return whole_cost(mechanism.guarantee, 1)
        words = release.arrays["protected"]
        usual = int(np.median(words)) if len(words) else 0
        size = f"{count_of(usual, 'word')} x {count_of(cell.size, 'variant')}"
        return cell.mechanism.guarantee.compose(usual * cell.size, f"query ({size})")

    def examples(self, cell: Cell, release: Result) -> Iterator[Example]:
        """Yield the first queries that have variants, and some of those."""
        shown = 0
        for text, row in zip(self.bench.texts, release.data["variants"], strict=True):
            if row and shown < _EXAMPLES:
                shown += 1
                variants = tuple(list(dict.fromkeys(row))[:_EXAMPLES])
                yield Example(str(cell.mechanism), text, variants)

    def facts(self) -> list[tuple[str, str]]:
        """Return versions, and the size of everything."""
        return list(facts(self.bench))

    def notes(self) -> list[str]:
        """Return what the log lacked."""
        return list(notes(self.bench))

    def warnings(self, results: Results) -> list[str]:
        """Warn where nobody attacked who knows how mechanisms work."""
        tried = {row.attacker for row in results.rows if row.kind in ("risk", "recovery")}
        if not tried or any("mechanism" in ATTACKS.parse(each).needs for each in tried):
            return []
        return [
            f"Only {', '.join(sorted(tried))} attacked, which do not know how the mechanisms work:"
            " every risk is a lower bound, and mechanisms do not compare by it. Add 'bayes' to"
            " the attackers."
        ]

    def remarks(self, results: Results) -> list[str]:
        """Say where queries leave nearly in clear, and what is compared with plain search."""
        return [unprotected_remarks(results.rows), *_fair_baselines(results.rows, self.study.k)]


def _fair_baselines(rows: Sequence[Row], k: int) -> Iterator[str]:
    """Compare the most useful configuration with plain search that orders as many documents."""
    found = {(row.task, row.spec, row.size, row.measure): row.score for row in rows}
    for task in dict.fromkeys(row.task for row in rows if row.measure == AS_DEEP):
        here = [row for row in rows if row.task == task and row.measure == WORDS.utility.name]
        best = max(
            (row for row in here if row.mechanism != PLAIN),
            key=lambda row: row.score,
            default=None,
        )
        if best is None:
            continue
        place = (task, best.spec, best.size)
        plain = next((row.score for row in here if row.mechanism == PLAIN), float("nan"))
        yield join(
            f"{task}: plain search puts {count_of(k, 'document')} in order; the variants bring"
            f" more. With {best.spec} ({best.size} variants, nDCG@10 {best.score:.3f}) it is"
            f" {found[*place, UNION]:,.0f}; plain search has nDCG@10 {plain:.3f}, and"
            f" {found[*place, AS_DEEP]:.3f} when it orders as many."
        )
