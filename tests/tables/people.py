"""A small town for tests: people with a name, an age, a sex, a district, an illness and a wage."""

from pathlib import Path
from typing import Any

import numpy as np

from veil import tables
from veil.tables.table import Table

PERSON = "Xanthippe"  # a value that no message, card or page may show
DISTRICTS = ("N1", "N2", "S1", "S2")
ILLNESSES = ("flu", "gout", "measles")
AREAS = [[item, item[0], "*"] for item in DISTRICTS]
QI = ["age", "sex", "district"]


def columns(n: int = 60, seed: int = 5) -> dict[str, list[Any]]:
    """Return the columns of n people."""
    rng = np.random.default_rng(seed)
    return {
        "name": [f"{PERSON} {i}" for i in range(n)],
        "age": rng.integers(20, 60, n).tolist(),
        "sex": rng.choice(["F", "M"], n).tolist(),
        "district": rng.choice(DISTRICTS, n).tolist(),
        "illness": rng.choice(ILLNESSES, n, p=[0.6, 0.3, 0.1]).tolist(),
        "wage": np.round(rng.normal(3_000, 500, n), 2).tolist(),
    }


def town(n: int = 60, seed: int = 5) -> Table:
    """Return n people as a table, with roles and hierarchies."""
    return tables.load(
        columns(n, seed),
        identifiers=["name"],
        qi=QI,
        confidential=["illness", "wage"],
        hierarchies={
            "age": tables.intervals(width=10, steps=2),
            "sex": [["F", "*"], ["M", "*"]],
            "district": AREAS,
        },
    )


def written(folder: Path, n: int = 60, seed: int = 5) -> Path:
    """Write n people as a file, and their hierarchies beside it; return the file."""
    data = columns(n, seed)
    lines = [",".join(data)]
    lines += [",".join(map(str, row)) for row in zip(*data.values(), strict=True)]
    path = folder / "town.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    levels = folder / "levels"
    levels.mkdir()
    ages = [
        f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};{age // 20 * 20}-{age // 20 * 20 + 19};*"
        for age in range(20, 60)
    ]
    (levels / "town_age.csv").write_text("\n".join(ages) + "\n", encoding="utf-8")
    (levels / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    areas = [";".join(row) for row in AREAS]
    (levels / "town_district.csv").write_text("\n".join(areas) + "\n", encoding="utf-8")
    return path
