"""From the results of the steps to the tidy table, the examples and the guarantee cards."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from veil.core.amounts import count_of
from veil.core.guarantee import KINDS
from veil.studies._compared import compared
from veil.studies._curves import key
from veil.studies._facts import facts, notes
from veil.studies._measured import Samples, head, in_clear, measured, samples
from veil.studies.bench import Bench
from veil.studies.cells import Cell, Step, cells, plain_steps
from veil.studies.planes import Planned, scores
from veil.studies.store import Result, Store
from veil.studies.study import Study
from veil.studies.table import Card, Example, Results, Row

_EXAMPLES = 3  # queries of a configuration, and variants of each


def results(study: Study, store: Store) -> Results:
    """Gather what a store holds of a study; what is not there yet is noted, and no error."""
    material = Bench(study)
    return gather(material, cells(material), plain_steps(material), store)


def gather(
    material: Bench,
    configurations: Sequence[Cell],
    plain: Sequence[Step],
    store: Store,
    seconds: float | None = None,
) -> Results:
    """Gather what a store holds of these cells; `seconds` is how long this run took."""
    sheet = _Sheet(material, store)
    for step in plain:
        sheet.add(None, step)
    for cell in configurations:
        sheet.add(cell, cell.protect)
        for step in cell.steps:
            sheet.add(cell, step)
    scored = scores(sheet.rows, sheet.samples, sheet.planned)
    return Results(
        material.study.name,
        compared(sheet.rows, sheet.samples),
        tuple(sheet.examples),
        tuple(sheet.cards),
        facts(material, sheet.seconds, seconds),
        notes(material, configurations, sheet.missing, scored) + tuple(sheet.gaps),
        scored,
    )


class _Sheet:
    """What has been gathered so far."""

    def __init__(self, material: Bench, store: Store) -> None:
        self.material, self.store = material, store
        self.rows: list[Row] = []
        self.samples: Samples = {}
        self.planned: Planned = Counter()
        self.examples: list[Example] = []
        self.cards: list[Card] = []
        self.gaps: dict[str, None] = {}
        self.missing, self.seconds = 0, 0.0

    def add(self, cell: Cell | None, step: Step) -> None:
        """Add the result of a step, or count it as missing."""
        start = head(self.material, cell, step)
        some = step.kind == "attack" and step.count != step.size
        if step.kind == "attack" and not some:
            self.planned[key(start), start.size, start.attacker] += 1
        found = self.store.get(step.key)
        if found is None:
            self.missing += 1
            return
        self.seconds += found.seconds
        if cell is not None and step.kind == "protect":
            self.cards.append(_card(cell, found))
            self.examples += _examples(cell, found, self.material.texts)
            self.rows += in_clear(replace(start, size=cell.size), self.material.texts, found)
            return
        if some and step.count in self.material.study.sizes:
            return  # a configuration of its own has that number of variants
        rows = list(measured(start, step, found))
        self.rows += rows
        self.samples |= samples(rows, found, len(self.material.texts))
        if cell is not None:
            self.gaps |= _gap(cell, step, found)


def _card(cell: Cell, made: Result) -> Card:
    """Return what is claimed of a configuration, for one word and for a whole query."""
    claim = cell.mechanism.guarantee
    words = made.arrays["protected"]
    usual = int(np.median(words)) if len(words) else 0
    size = f"{count_of(usual, 'word')} x {count_of(cell.size, 'variant')}"
    total = claim.compose(usual * cell.size, f"query ({size})")
    epsilon = claim.epsilon if claim.kind != "none" and math.isfinite(claim.epsilon) else None
    return Card(
        str(cell.mechanism), claim.kind, epsilon, str(total), KINDS[claim.kind], claim.caveat
    )


def _examples(cell: Cell, made: Result, texts: Sequence[str]) -> Iterator[Example]:
    shown = 0
    for text, row in zip(texts, made.data["variants"], strict=True):
        if row and shown < _EXAMPLES:
            shown += 1
            variants = tuple(list(dict.fromkeys(row))[:_EXAMPLES])
            yield Example(str(cell.mechanism), text, variants)


def _gap(cell: Cell, step: Step, found: Result) -> dict[str, None]:
    reason = found.data.get("gap", "")
    return {f"{step.by} against {cell.mechanism.name}: {reason}": None} if reason else {}
