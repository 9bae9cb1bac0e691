"""Progress in plain lines, for what is no terminal: a log, a pipe, a job of a build."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from veil.data.fetch import Report

EVERY = 10.0  # seconds between two lines


@contextmanager
def plain_progress(write: Callable[[str], None], every: float = EVERY) -> Iterator[Report]:
    """Write a line now and then while work is under way, also if it reports nothing new."""
    state = ("working", 0, 0)
    done = threading.Event()
    start = time.monotonic()

    def report(message: str, now: int, total: int) -> None:
        nonlocal state
        state = (message or "working", now, total)

    def tell() -> None:
        while not done.wait(every):
            with suppress(OSError, ValueError):  # nobody listens any more
                write(line(*state, time.monotonic() - start))

    teller = threading.Thread(target=tell, name="veil-progress", daemon=True)
    teller.start()
    try:
        yield report
    finally:
        done.set()
        teller.join()


def line(message: str, now: int, total: int, seconds: float) -> str:
    """Return what is going on in one line."""
    share = f", {min(100, 100 * now // total)} %" if total > 0 else ""
    return f"veil: {message}{share} ({seconds:.0f} s)"
