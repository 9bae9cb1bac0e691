"""Print what attacks on tables cost: seconds, memory, and steps beside what all pairs would need.

Each measurement runs in a process of its own, so that its memory is its own, too. Adult is read
from the folder that ``VEIL_ADULT`` names, or from ``../shared/data/tables/adult``; without it a
table of the same shape is drawn.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.report import Report, best

from veil import tables
from veil.tables.column import Column
from veil.tables.mechanism import Release
from veil.tables.table import Table

HERE = Path(__file__).resolve().parent
ADULT = Path(os.environ.get("VEIL_ADULT", HERE.parents[1] / "shared/data/tables/adult"))
KNOWN = ("sex", "age", "race", "marital-status", "education", "native-country")
KINDS = (2, 74, 5, 7, 16, 41)  # different values of each
ROWS = 32_561
DISTANCE = {
    "in classes": "generalise(level=1)",
    "changed at random": "pram(p=0.8)",
    "with noise": "noise(scale=0.1)",
    "in intervals": "recode(width=10)",
}


def adult() -> Table:
    """Read Adult, or draw a table like it."""
    if (ADULT / "adult.csv").is_file():
        trees = {name: ADULT / f"adult_hierarchy_{name}.csv" for name in KNOWN}
        return tables.load(ADULT / "adult.csv", sep=";", qi=KNOWN, hierarchies=trees)
    rng = np.random.default_rng(1)
    drawn = {
        name: np.minimum(rng.geometric(2 / (kinds + 2), ROWS), kinds)
        for name, kinds in zip(KNOWN, KINDS, strict=True)
    }
    columns = {
        name: codes if name == "age" else [f"{name} {code}" for code in codes]
        for name, codes in drawn.items()
    }
    levels = {
        name: [[str(one), f"{str(one)[:-1]}?", "*"] for one in sorted(set(values))]
        for name, values in columns.items()
    }
    return tables.load(columns, qi=KNOWN, hierarchies=levels)


def by_distance(spec: str) -> dict[str, float]:
    """Link a masked Adult by distance."""
    table = adult()
    release = tables.protect(table, spec, rng=1)
    return {"seconds": best(lambda: tables.attack(table, release, "distance"), 2)}


def numbers() -> dict[str, float]:
    """Link Gaussian numbers with noise by distance, beside a tree that is built and asked once."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(1)
    columns = {f"x{j}": rng.normal(size=ROWS) for j in range(6)}
    table = tables.load(columns, qi=[*columns])
    release = tables.protect(table, "noise(scale=0.2)", rng=1)
    points, noisy = (
        np.stack([one[name] for name in table.qi], axis=1) for one in (table, release.table)
    )
    return {
        "seconds": best(lambda: tables.attack(table, release, "distance"), 2),
        "tree": best(lambda: cKDTree(points).query(noisy), 2),
    }


def codes(n: int = 5_000, wide: int = 9) -> tuple[Table, Release]:
    """Draw codes, and a release in which a tenth of them is changed."""
    rng = np.random.default_rng(1)
    columns = {f"c{j}": rng.integers(0, 12, n) for j in range(wide)}
    table = tables.load(columns, qi=[*columns])
    made = {
        name: Column(np.where(rng.random(n) < 0.1, rng.permutation(values), values).astype(float))
        for name, values in columns.items()
    }
    guarantee = tables.protect(table, "sample(rate=0.5)", rng=1).guarantee
    return table, Release(table.changed(made), "changed", guarantee, rows=np.arange(n))


def weighed(pairs: bool) -> dict[str, float]:
    """Link codes by weights of agreement, all pairs one by one or by subsets of columns."""
    from veil.tables.attacks import nearest as tallies

    tallies._PAIR = 0.0 if pairs else np.inf
    table, release = codes()
    return {"seconds": best(lambda: tables.attack(table, release, "fellegi_sunter"), 2)}


def linked() -> dict[str, float]:
    """Link a masked Adult by all three attackers, as the plane does."""
    table = adult()
    release = tables.protect(table, "pram(p=0.8)", rng=1)
    return {"seconds": best(lambda: tables.attack(table, release, "linkage"), 2)}


def tried() -> dict[str, float]:
    """Make 500 attacks of each kind beside control rows."""
    whole = adult()
    half = len(whole) // 2
    table, control = whole.take(np.arange(half)), whole.take(np.arange(half, 2 * half))
    release = tables.protect(table, "noise(scale=0.1)", rng=1)

    def attacks() -> None:
        for name in ("singling_out", "linkability"):
            tables.attack(table, release, name, control=control, rng=1)

    return {"seconds": best(attacks, 1)}


TASKS: dict[str, Callable[[], dict[str, float]]] = {
    **{what: (lambda spec=spec: by_distance(spec)) for what, spec in DISTANCE.items()},  # type: ignore[misc]
    "numbers": numbers,
    "pairs": lambda: weighed(True),
    "subsets": lambda: weighed(False),
    "linkage": linked,
    "trials": tried,
}


def measured(task: str) -> dict[str, float]:
    """Run a task in a process of its own, on one thread."""
    command = [sys.executable, "-m", "benchmarks.tables_attacks", "--task", task]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    told = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=HERE.parent, env=os.environ | one
    )
    found: dict[str, float] = json.loads(told.stdout)
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        warnings.simplefilter("ignore")
        found = TASKS[options.task]()
        found["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    print("Attacks on tables:")
    report = Report()
    for what in DISTANCE:
        each = measured(what)
        report.add(f"distance, Adult {what}", f"{each['seconds']:.2f} s", "at most 3")
        report.add("  peak memory", f"{each['mb']:,.0f} MB", "below 300")
    gauss = measured("numbers")
    report.add("distance, 32,561 x 6 numbers", f"{gauss['seconds']:.2f} s", "at most 3")
    ratio = gauss["seconds"] / gauss["tree"]
    report.add("  beside one cKDTree, built and asked", f"{ratio:.2f} times")
    report.add("  peak memory", f"{gauss['mb']:,.0f} MB", "below 300")
    for what in ("pairs", "subsets"):
        each = measured(what)
        report.add(
            f"fellegi_sunter, 5,000 x 5,000 x 9 by {what}", f"{each['seconds']:.2f} s", "at most 3"
        )
        report.add("  peak memory", f"{each['mb']:,.0f} MB", "below 300")
    each = measured("linkage")
    report.add("linkage, Adult changed at random", f"{each['seconds']:.2f} s")
    each = measured("trials")
    report.add("singling_out and linkability, 500 attacks each", f"{each['seconds']:.2f} s")


if __name__ == "__main__":
    main()
