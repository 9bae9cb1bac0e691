"""From the results of the steps to the tidy table, the examples and the guarantee cards."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veil.core.guarantee import KINDS
from veil.core.types import Floats
from veil.measures.estimate import bootstrap
from veil.measures.risk import ATTACKERS, chance, successes
from veil.studies._curves import PLAIN
from veil.studies._facts import facts, notes
from veil.studies.bench import Bench
from veil.studies.cells import Cell, Step, cells, plain_steps
from veil.studies.store import Result, Store
from veil.studies.study import Study
from veil.studies.table import Card, Example, Kind, Results, Row

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
    rows: list[Row] = []
    examples: list[Example] = []
    cards: list[Card] = []
    gaps: dict[str, None] = {}
    missing = 0
    spent = 0.0
    for step in plain:
        found = store.get(step.key)
        missing += found is None
        if found is not None:
            spent += found.seconds
            rows += _utility(_head(material, None, step), found)
    for cell in configurations:
        made = store.get(cell.protect.key)
        if made is not None:
            spent += made.seconds
            cards.append(_card(cell, made))
            examples += _examples(cell, made, material.texts)
        missing += made is None
        for step in cell.steps:
            found = store.get(step.key)
            missing += found is None
            if found is not None:
                spent += found.seconds
                rows += _rows(_head(material, cell, step), step, found)
                gaps |= _gap(cell, step, found)
    told = notes(material, configurations, missing) + tuple(gaps)
    shown = facts(material, spent, seconds)
    return Results(material.study.name, tuple(rows), tuple(examples), tuple(cards), shown, told)


def _head(material: Bench, cell: Cell | None, step: Step) -> Row:
    """Return a row that says what was measured, without any figure."""
    return Row(
        collection=material.collection.name,
        engine=step.by if step.kind in ("plain", "search") else "",
        mechanism=PLAIN if cell is None else cell.mechanism.name,
        spec=PLAIN if cell is None else str(cell.mechanism),
        parameter="" if cell is None else cell.parameter,
        value=0.0 if cell is None else cell.value,
        size=1 if cell is None else step.count,
        kind="utility",
        measure="",
        attacker=step.by if step.kind == "attack" else "",
        score=math.nan,
        low=math.nan,
        high=math.nan,
        n=0,
    )


def _rows(head: Row, step: Step, found: Result) -> Iterator[Row]:
    if step.kind == "search":
        yield from _utility(head, found)
    elif step.kind == "similarity":
        for measure, values in found.arrays.items():
            yield from _mean(head, "similarity", measure, values)
    elif "gap" not in found.data:
        measured = _recovery if found.data["unit"] == "word" else _risk
        yield from measured(head, found)


def _utility(head: Row, found: Result) -> Iterator[Row]:
    for measure, values in found.arrays.items():
        yield from _mean(head, "utility", measure, values)


def _mean(
    head: Row,
    kind: Kind,
    measure: str,
    values: Floats,
    chance: float | None = None,
    groups: Any = None,  # noqa: ANN401 - an array or None
) -> Iterator[Row]:
    """Yield the mean over what could be measured, if there was anything."""
    known = np.isfinite(values)
    if known.any():
        mean = bootstrap(values[known], None if groups is None else groups[known])
        yield replace(
            head,
            kind=kind,
            measure=measure,
            score=float(mean),
            low=mean.low,
            high=mean.high,
            n=mean.n,
            chance=chance,
        )


def _risk(head: Row, found: Result) -> Iterator[Row]:
    """Yield the four risks of one attack, each beside what a blind guess reaches."""
    ranks, candidates, texts = (found.arrays[name] for name in ("ranks", "candidates", "texts"))
    if not len(ranks):
        return
    for who in ATTACKERS:
        gained = successes(ranks, who, candidates=candidates)
        yield from _mean(head, "risk", who, gained, chance(candidates, who), texts)


def _recovery(head: Row, found: Result) -> Iterator[Row]:
    """Yield the share of words, and of whole queries, that the first guess gets right."""
    ranks, candidates, texts = (found.arrays[name] for name in ("ranks", "candidates", "texts"))
    if not len(ranks):
        return
    right = ((ranks == 1) & (ranks <= candidates)).astype(np.float64)
    blind = 1.0 / candidates
    queries, owner = np.unique(texts, return_inverse=True)
    whole, lucky = np.ones(len(queries)), np.ones(len(queries))
    np.minimum.at(whole, owner, right)
    np.multiply.at(lucky, owner, blind)
    yield from _mean(head, "recovery", "words", right, float(blind.mean()), texts)
    yield from _mean(head, "recovery", "queries", whole, float(lucky.mean()))


def _card(cell: Cell, made: Result) -> Card:
    """Return what is claimed of a configuration, for one word and for a whole query."""
    claim = cell.mechanism.guarantee
    words = made.arrays["protected"]
    usual = int(np.median(words)) if len(words) else 0
    total = claim.compose(usual * cell.size, f"query ({usual} words x {cell.size} variants)")
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
