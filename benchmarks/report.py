"""What the benchmarks have in common: timing, and rows of figures beside their targets."""

import time
from collections.abc import Callable


def best(work: Callable[[], object], passes: int = 4) -> float:
    """Return the seconds of the fastest of several passes, after one that is not counted."""
    work()
    return min(_once(work) for _ in range(passes))


def _once(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Report:
    """Collect rows of (what, figure, target) and print them as a Markdown table."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def add(self, what: str, figure: str, target: str = "") -> None:
        """Add and show a row."""
        self.rows.append((what, figure, target))
        print(f"  {what}: {figure}" + (f"   (target: {target})" if target else ""), flush=True)

    def table(self) -> str:
        """Return all rows as Markdown."""
        lines = ["| what | measured | target |", "| --- | --- | --- |"]
        return "\n".join(lines + [f"| {a} | {b} | {c} |" for a, b, c in self.rows])
