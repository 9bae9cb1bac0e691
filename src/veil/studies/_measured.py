"""From the result of one step to rows of the tidy table, and to the values behind them."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from veil.core.ranks import first_guess
from veil.core.types import Floats
from veil.measures.estimate import bootstrap
from veil.measures.risk import ATTACKERS, Attacker, chance, successes
from veil.studies._curves import PLAIN, is_utility
from veil.studies.bench import Bench
from veil.studies.cells import Cell, Step
from veil.studies.store import Result
from veil.studies.table import IN_CLEAR, Kind, Row
from veil.text.attacks.log import folded

Samples = dict[Row, Floats]  # (n,) what a row is the mean of, by query; nan where there is none


def head(material: Bench, cell: Cell | None, step: Step) -> Row:
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


def measured(head: Row, step: Step, found: Result) -> Iterator[Row]:
    """Yield the rows of a step that measured something."""
    if step.kind in ("plain", "search"):
        yield from utility(head, found)
    elif step.kind == "similarity":
        for measure, values in found.arrays.items():
            yield from _mean(head, "similarity", measure, values)
    elif "gap" not in found.data and len(found.arrays["ranks"]):
        yield from _attacked(head, step, found)


def utility(head: Row, found: Result) -> Iterator[Row]:
    """Yield one row for each measure of a search."""
    for measure, values in found.arrays.items():
        yield from _mean(head, "utility", measure, values)


def in_clear(head: Row, texts: Sequence[str], made: Result) -> Iterator[Row]:
    """Yield the share of queries that are among their own variants."""
    rows = zip(texts, made.data["variants"], strict=True)
    sent = [folded(text) in map(folded, row) for text, row in rows if row]
    yield from _mean(head, "similarity", IN_CLEAR, np.array(sent, dtype=np.float64))


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


def _attacked(head: Row, step: Step, found: Result) -> Iterator[Row]:
    """Yield the risks of an attack on all variants, and what is recovered from some of them."""
    unit = found.data["unit"]
    if unit == "release":
        yield from _risk(head, "linkage", found)
        return
    if unit == "query" and step.count == step.size:
        yield from _risk(head, "risk", found)
    yield from _recovery(head, found)


def _risk(head: Row, kind: Kind, found: Result) -> Iterator[Row]:
    """Yield the four risks of one attack, each beside what a blind guess reaches."""
    ranks, candidates, texts = (found.arrays[name] for name in ("ranks", "candidates", "texts"))
    prior, level = found.arrays.get("prior"), found.arrays.get("prior_ties")
    for who in ATTACKERS:
        gained = successes(ranks, who, candidates=candidates, ties=found.arrays.get("ties"))
        blind = chance(candidates, who, ranks=ranks, prior=prior, prior_ties=level)
        yield from _mean(head, kind, who, gained, blind, texts)


def _recovery(head: Row, found: Result) -> Iterator[Row]:
    """Yield the share of whole queries, and of words, that the first guess gets right."""
    ranks, candidates, texts = (found.arrays[name] for name in ("ranks", "candidates", "texts"))
    right = first_guess(ranks, found.arrays.get("ties")) * (ranks <= candidates)
    blind = np.where(ranks <= candidates, 1.0 / candidates, 0.0)
    if "prior" in found.arrays:
        blind = first_guess(found.arrays["prior"], found.arrays.get("prior_ties"))
    if found.data["unit"] == "query":
        yield from _mean(head, "recovery", "queries", right, float(blind.mean()), texts)
        return
    queries, owner = np.unique(texts, return_inverse=True)
    whole, lucky = np.ones(len(queries)), np.ones(len(queries))
    np.multiply.at(whole, owner, right)
    np.multiply.at(lucky, owner, blind)
    yield from _mean(head, "recovery", "words", right, float(blind.mean()), texts)
    yield from _mean(head, "recovery", "queries", whole, float(lucky.mean()))


def samples(rows: Iterable[Row], found: Result, n: int) -> Samples:
    """Return the values of each of the `n` queries behind those rows that a plane shows."""
    kept = {}
    for row in rows:
        if is_utility(row):
            kept[row] = np.asarray(found.arrays[row.measure], dtype=np.float64)
        elif row.kind == "risk":
            kept[row] = _by_query(found, cast(Attacker, row.measure), n)
    return kept


def _by_query(found: Result, who: Attacker, n: int) -> Floats:
    """Return the success on each query: `texts` tells which one a rank belongs to."""
    ranks, candidates, texts = (found.arrays[name] for name in ("ranks", "candidates", "texts"))
    gains = successes(ranks, who, candidates=candidates, ties=found.arrays.get("ties"))
    gained = np.bincount(texts, gains, minlength=n)
    times = np.bincount(texts, minlength=n)
    values: Floats = np.full(n, np.nan)
    np.divide(gained, times, out=values, where=times > 0)
    return values
