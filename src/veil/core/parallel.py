"""Threads for array work: NumPy lets go of the interpreter lock, so that threads are enough."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from typing import NoReturn

import numpy as np
from threadpoolctl import ThreadpoolController


def cores() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(work: Callable[[slice], None], rows: int) -> None:
    """Run `work` on consecutive slices of `rows`, one thread per processor.

    The slices are disjoint and nothing is shared: the result does not depend on their number.
    """
    cuts = np.linspace(0, rows, max(1, min(cores(), rows)) + 1).astype(int).tolist()
    slices = [slice(a, b) for a, b in pairwise(cuts)]
    if len(slices) == 1:
        work(slices[0])
        return
    with ThreadPoolExecutor(len(slices)) as pool:
        list(pool.map(work, slices))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let matrix products use one thread each while threads of our own run them.

    The setting is one for the whole process: only the main thread makes it, so that two threads
    never restore each other's. From any other thread the products keep their own threads, which
    costs time but changes no result.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


BACKGROUND = "veil-background"  # name of threads that nobody waits for


def leave(code: int) -> NoReturn:
    """End the program; at once where something is still made in the background.

    Such a thread would be torn out of compiled code, which ends the program with a crash.
    """
    if any(thread.name == BACKGROUND for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
