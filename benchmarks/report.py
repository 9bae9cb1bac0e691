"""What the benchmarks have in common: timing, rows of figures, and what to do without data."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from veil.core.errors import VeilError


def require_data(path: Path, variable: str) -> None:
    """End with one sentence unless a file or folder of data is at hand."""
    if not path.exists():
        sys.exit(
            f"This benchmark needs {path.parent.name}/{path.name}, which is not part of Veil: put"
            f" its folder into ../shared/data beside the clone, or name it in {variable}."
        )


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say what a benchmark lacks (a file, an extra, a peer) in one sentence, without a traceback.

    It is set when this module is imported, which is before `veil` is: extras may be missing there.
    """
    if isinstance(error, VeilError):
        print(error, file=sys.stderr)
    elif isinstance(error, ModuleNotFoundError):
        print(
            f"This benchmark needs the package {error.name}, which is not installed.",
            file=sys.stderr,
        )
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _end


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
