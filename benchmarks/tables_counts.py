"""Print what protecting and auditing tables of cells costs, in seconds of one processor.

Each measurement runs in a process of its own, so that its memory is its own, too.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.report import Report

from veil import tables
from veil.tables.cells.cells import Cells

HERE = Path(__file__).resolve().parent
SMALL, LARGE, CUBE = (30, 20), (100, 50), (12, 10, 6)
SHARE = 55 / 600  # of cells that are sensitive


def town(shape: tuple[int, ...], share: float = SHARE, seed: int = 1) -> Cells:
    """Draw a table of counts of which a share is below 5, and above 0."""
    rng = np.random.default_rng(seed)
    values = 5 + rng.negative_binomial(0.8, 0.02, shape)
    few = rng.permutation(values.size)[: round(share * values.size)]
    values.ravel()[few] = rng.integers(1, 5, len(few))
    return tables.tabulate(values)


def spent(work: Callable[[], object], passes: int = 2) -> float:
    """Return the seconds of a processor of the fastest pass, after one that is not counted."""
    tables.protect(tables.tabulate([[1, 9], [9, 9]]), "suppress")  # imports
    times = []
    for _ in range(passes):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def suppressing(shape: tuple[int, ...], passes: int) -> dict[str, float]:
    """Suppress; the release is audited on the way."""
    cells = town(shape)
    release = tables.protect(cells, "suppress(threshold=5)")
    return {
        "seconds": spent(lambda: tables.protect(cells, "suppress(threshold=5)"), passes),
        "audit": spent(lambda: tables.audit(release), passes),
        "primary": float(release.primary.sum()),
        "suppressed": float(release.suppressed.sum()),
    }


def rounding() -> dict[str, float]:
    """Round 100 x 50 cells so that all adds up."""
    cells = town(LARGE)
    return {"seconds": spent(lambda: tables.protect(cells, "round(base=5, how=controlled)"), 3)}


def adjusting() -> dict[str, float]:
    """Adjust 100 x 50 cells of which 50 are small."""
    cells = town(LARGE, 0.01)
    return {"seconds": spent(lambda: tables.protect(cells, "cta(threshold=5)"), 3)}


TASKS: dict[str, Callable[[], dict[str, float]]] = {
    "small": lambda: suppressing(SMALL, 2),
    "large": lambda: suppressing(LARGE, 1),
    "cube": lambda: suppressing(CUBE, 1),
    "rounding": rounding,
    "adjusting": adjusting,
}


def measured(task: str) -> dict[str, float]:
    """Run a task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.tables_counts", "--task", task]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
    found: dict[str, float] = json.loads(told.stdout)
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        found = TASKS[options.task]()
        found["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    print("Tables of cells (seconds of one processor):")
    report = Report()
    for task, what, target in (
        ("small", "30 x 20", "at most 2 s"),
        ("large", "100 x 50", "at most 60 s"),
        ("cube", "12 x 10 x 6", ""),
    ):
        found = measured(task)
        primary, hidden = int(found["primary"]), int(found["suppressed"])
        told = f"{found['seconds']:.2f} s, of it audit {found['audit']:.2f} s"
        report.add(f"suppression with audit, {what}, {primary:,} sensitive", told, target)
        report.add("  suppressed in all, peak memory", f"{hidden:,}; {found['mb']:,.0f} MB")
    seconds = measured("rounding")["seconds"]
    report.add("controlled rounding, 100 x 50", f"{seconds:.2f} s", "about 0.1 s")
    seconds = measured("adjusting")["seconds"]
    report.add("adjustment, 100 x 50, 50 small", f"{seconds:.2f} s", "about 0.3 s")


if __name__ == "__main__":
    main()
