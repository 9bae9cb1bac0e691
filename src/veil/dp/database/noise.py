"""Noise for every number of every group: here what the data say becomes a release.

All groups are drawn for in the order of their keys, one quantity after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veil.dp.database.makers import Noisy
from veil.dp.database.plan import Measured, Plan, quantile_of
from veil.dp.database.quantities import Rank, Sum, Units
from veil.dp.database.schema import order
from veil.dp.database.statements import Exact, Group
from veil.dp.exact.laplace import discrete_laplace


@dataclass(frozen=True, slots=True)
class Released:
    """Groups in the order of their keys, and their noisy numbers, one for each quantity."""

    groups: tuple[Group, ...]
    noisy: tuple[tuple[Noisy, ...], ...]


def release(plan: Plan, exact: Exact, rng: Generator) -> Released:
    """Add noise to what the data say; groups whose keys are not public pass a threshold."""
    groups = groups_of(plan, exact)
    columns = [_column(one, groups, exact, rng) for one in plan.measured]
    rows = [tuple(column[i] for column in columns) for i in range(len(groups))]
    if plan.threshold is None:
        return Released(groups, tuple(rows))
    at = plan.places[Units()]
    kept = [i for i, row in enumerate(rows) if row[at].number >= plan.threshold]
    return Released(tuple(groups[i] for i in kept), tuple(rows[i] for i in kept))


def groups_of(plan: Plan, exact: Exact) -> tuple[Group, ...]:
    """Return the groups: all that are public, or those that the data have, in order."""
    if plan.combinations is not None:
        return plan.combinations
    if not plan.query.keys:
        return ((),)
    return tuple(sorted(exact.numbers, key=lambda group: [order(key) for key in group]))


def _column(one: Measured, groups: Sequence[Group], exact: Exact, rng: Generator) -> list[Noisy]:
    if isinstance(one.quantity, Rank):
        return [_rank(one, one.quantity, group, exact, rng) for group in groups]
    numbers = [exact.numbers.get(group, {}).get(one.quantity, 0) for group in groups]
    noise = discrete_laplace(one.scale, len(groups), rng).tolist()
    return [_noisy(one, number + drawn) for number, drawn in zip(numbers, noise, strict=True)]


def _noisy(one: Measured, number: int) -> Noisy:
    levels = one.levels
    if not isinstance(one.quantity, Sum) or levels is None:
        return Noisy(number, one.std)
    step = float(levels.step)
    if one.quantity.power == 0:
        value = number * levels.step
        plain = int(value) if levels.step.denominator == 1 else float(value)
        return Noisy(plain, one.std * step)
    if levels.square:
        half = (levels.high - levels.low) / 2
        return Noisy(number, one.std, step, -levels.offset * step, (0.0, half * half))
    start = levels.low - levels.offset * step
    return Noisy(number, one.std, step, start, (levels.low, levels.high), levels.middle)


def _rank(one: Measured, quantity: Rank, group: Group, exact: Exact, rng: Generator) -> Noisy:
    """Draw a cell by the exponential mechanism."""
    levels = one.levels
    if levels is None:
        raise AssertionError
    pairs = sorted(exact.cells.get((group, quantity.place), []))
    cells = np.array([cell for cell, _ in pairs], dtype=np.int64)
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    cell = int(quantile_of(one).draw(np.repeat(cells, counts), 1, rng)[0])
    value = levels.low + cell * float(levels.step)
    whole = levels.step == 1 and levels.low.is_integer()
    return Noisy(int(value) if whole else min(levels.high, value), one.std)
