"""Checks of tables: mechanisms, attacks and utility, and mechanisms and rules for cells."""

from collections import Counter
from typing import Any

import numpy as np

from veil import tables
from veil.tables.cells.cells import Cells, tabulate
from veil.tables.cells.release import CellMechanism, CellRelease
from veil.tables.cells.rules import Rule
from veil.tables.hierarchy import intervals
from veil.tables.measures.utility import Utility, utility
from veil.tables.mechanism import Mechanism, Release, protect
from veil.tables.schema import load
from veil.tables.table import Table
from veil.testing.contract import (
    CANARY,
    SEED,
    Attacking,
    Check,
    Part,
    Protection,
    declarations,
    fingerprint,
    parameters,
    refusal,
    require,
    share,
)

N = 60
QI = ("age", "sex", "district")


def people(seed: int = 5, n: int = N) -> Table:
    """Return people with a name, an age, a sex, a district, an illness and a wage."""
    rng = np.random.default_rng(seed)
    districts = ("N1", "N2", "S1", "S2")
    columns = {
        "name": [f"{CANARY} {i}" for i in range(n)],
        "age": rng.integers(20, 60, n).tolist(),
        "sex": rng.choice(["F", "M"], n).tolist(),
        "district": rng.choice(districts, n).tolist(),
        "illness": rng.choice(["flu", "gout", "measles"], n, p=[0.6, 0.3, 0.1]).tolist(),
        "wage": np.round(rng.normal(3_000, 500, n), 2).tolist(),
    }
    return load(
        columns,
        identifiers=["name"],
        qi=QI,
        confidential=["illness", "wage"],
        hierarchies={
            "age": intervals(width=10, steps=2),
            "sex": [["F", "*"], ["M", "*"]],
            "district": [[name, name[0], "*"] for name in districts],
            "wage": intervals(width=1_000, steps=1),
            "illness": [["flu", "chest", "*"], ["gout", "joints", "*"], ["measles", "skin", "*"]],
        },
        quiet=True,
    )


def rows_of(table: Table) -> tuple[tuple[object, ...], ...]:
    """Return the values of a table, row by row."""
    return tuple(zip(*(table[name].tolist() for name in table.columns), strict=True))


def _protect(mechanism: Mechanism, table: Table, rng: Any) -> Release:  # noqa: ANN401
    return protect(table, mechanism, rng=rng)


def _bad_tables() -> list[object]:
    return [CANARY, None, {"age": [31]}, 7]


_MASKING = Protection(
    lambda _: people(), _protect, _bad_tables, lambda release: rows_of(release.table)
)


def keeps_a_table(mechanism: Mechanism) -> None:
    """Check what a released table holds, and the k that is promised of it."""
    original = people()
    release = _protect(mechanism, original, SEED)
    require("name" not in release.table, "a release must have no identifier")
    require(
        set(release.table.columns) <= set(original.columns), "a release must have no new column"
    )
    if release.rows is not None:
        require(
            len(release.rows) == len(release.table)
            and 0 <= release.rows.min(initial=0) <= release.rows.max(initial=0) < N,
            "`rows` must name the original row of each released one",
        )
    if release.guarantee.kind == "k-anonymity":
        released = release.table
        columns = [released[name].tolist() for name in QI if name in released]
        sizes = Counter(zip(*columns, strict=True))
        require(
            min(sizes.values()) >= release.guarantee.k,
            "every released record must be equal to k - 1 others in the quasi-identifiers",
        )


MECHANISM: tuple[Check, ...] = (*_MASKING.checks, keeps_a_table)


def _attack(attack: Part, original: Table, released: Table) -> Any:  # noqa: ANN401
    population: Any = people() if "population" in attack.needs else None
    control = people(11) if "control" in attack.needs else None
    return tables.attack(original, released, attack, population, control, SEED)


def _blank(attack: Part) -> Table:
    """Return a release that says nothing: no quasi-identifier is left, and rows are mixed."""
    rng, illnesses = np.random.default_rng(6), people()["illness"].tolist()
    columns: dict[str, list[Any]] = {
        "age": ["*" if "population" in attack.needs else 40] * N,
        "sex": ["*"] * N,
        "district": ["*"] * N,
        "illness": rng.permutation(illnesses).tolist(),
        "wage": rng.permutation(np.repeat(np.arange(6) * 500.0, N // 6)).tolist(),
    }
    return load(columns, qi=QI, confidential=["illness", "wage"], quiet=True)


_DISCLOSING = Attacking(lambda _: (people(), people()), _attack, _blank)
ATTACK: tuple[Check, ...] = _DISCLOSING.checks


def compares_tables(measure: Utility) -> None:
    """Check that utility is 1 of the original, from 0 to 1 of a release, and changes nothing."""
    original, before = people(), fingerprint(people())
    release = protect(original, "pram(p=0.5)", rng=SEED)
    target = {"target": "illness"} if measure.name == "ml" else {}
    value = utility(original, release, measure, **target)
    require(share(value), "utility must be from 0 to 1")
    require(
        utility(original, release, measure, **target) == value,
        "the same release must have the same utility",
    )
    require(
        utility(original, original, measure, **target) >= value,
        "no release may be worth more than the original",
    )
    require(fingerprint(original) == before, "a measure must not modify its input")


MEASURE: tuple[Check, ...] = (declarations, parameters, compares_tables)


def counts() -> Cells:
    """Return a table of counts with several small cells."""
    return tabulate(people(n=600), ["sex", "district", "illness"])


def _publish(mechanism: CellMechanism, cells: Cells, rng: Any) -> CellRelease:  # noqa: ANN401
    steps: list[str | CellMechanism] = [mechanism]
    if not _publishes(mechanism):
        steps.append("suppress(threshold=3)")
    return protect(cells, steps, rng=rng)


def _publishes(mechanism: CellMechanism) -> bool:
    """Return whether a mechanism publishes, and does not only prepare for the next one."""
    return type(mechanism).prepare is CellMechanism.prepare


def publishes_cells(mechanism: CellMechanism) -> None:
    """Check a published table of cells, and that it can be repeated."""
    cells = counts()
    before = fingerprint(cells)
    release = _publish(mechanism, cells, SEED)
    require(fingerprint(cells) == before, "a mechanism must not modify its input")
    require(
        fingerprint(_publish(mechanism, cells, SEED)) == fingerprint(release),
        "the same seed must give the same release",
    )
    require(
        release.bounds.low.shape == release.margins.shape == release.bounds.high.shape,
        "`bounds` must have the shape of the published table",
    )
    open_cells = ~np.isnan(release.margins)
    require(
        release.maps
        or bool(
            (
                (release.bounds.low[open_cells] <= cells.margins[open_cells] + 1e-9)
                & (release.bounds.high[open_cells] >= cells.margins[open_cells] - 1e-9)
            ).all()
        ),
        "`bounds` must hold the true value of each published cell",
    )
    require(
        release.seeded or fingerprint(_publish(mechanism, cells, 7)) == fingerprint(release),
        "a random release with a seed must be labelled as seeded",
    )
    for bad in (CANARY, None):
        require(
            refusal(lambda bad=bad: protect(bad, mechanism)) is not None,  # type: ignore[misc]
            "bad input must be refused with a VeilError",
        )


def judges_cells(rule: Rule) -> None:
    """Check which cells a rule calls sensitive."""
    cells = tabulate(people(n=12), ["district", "illness"], value="wage")
    before = fingerprint(cells)
    sensitive = rule.sensitive(cells)
    require(
        sensitive.cells.shape == sensitive.protection.shape == cells.margins.shape,
        "a rule must judge every cell of the full table",
    )
    require(
        not bool(sensitive.cells[cells.margins == 0].any()), "an empty cell must not be sensitive"
    )
    require(bool((sensitive.protection >= 0).all()), "the protection of a cell must be at least 0")
    require(fingerprint(cells) == before, "a rule must not modify its input")


CELL_MECHANISM: tuple[Check, ...] = (declarations, parameters, publishes_cells)
RULE: tuple[Check, ...] = (declarations, parameters, judges_cells)
