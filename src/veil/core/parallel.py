"""Threads for array work: NumPy releases the interpreter lock, so threads are enough."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from typing import NoReturn, Self

import numpy as np
from threadpoolctl import ThreadpoolController


def cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """One thread per processor for many short tasks, which are faster than starting threads.

    The calling thread is one of them. The others sleep between tasks.
    """

    def __init__(self) -> None:
        self._count = cores()
        self._others = ThreadPoolExecutor(self._count - 1) if self._count > 1 else None

    def run(self, work: Callable[[slice], None], rows: int) -> None:
        """Run `work` on consecutive slices of `rows`, one per thread, and wait for all.

        The slices are disjoint and share nothing, so the result does not depend on their number.
        """
        cuts = np.linspace(0, rows, max(1, min(self._count, rows)) + 1).astype(int).tolist()
        own, *rest = [slice(a, b) for a, b in pairwise(cuts)]
        if self._others is None or not rest:
            work(own)
            return
        tasks = [self._others.submit(work, part) for part in rest]
        try:
            work(own)
        finally:
            wait(tasks)
        for task in tasks:
            task.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._others is not None:
            self._others.shutdown()


def in_threads(work: Callable[[slice], None], rows: int) -> None:
    """Run `work` on consecutive slices of `rows`, one thread per processor, as `Threads` does."""
    with Threads() as threads:
        threads.run(work, rows)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit each matrix product to one thread while our own threads run them.

    The limit applies to the whole process, so only the main thread sets it: two threads could
    restore each other's. Called from any other thread this does nothing, which costs time but
    changes no result.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


BACKGROUND = "veil-background"  # name of the threads that the program does not wait for


def leave(code: int) -> NoReturn:
    """Exit the program, immediately if a background thread is still running.

    A normal exit would stop such a thread inside compiled code and crash the program.
    """
    if any(thread.name == BACKGROUND for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
