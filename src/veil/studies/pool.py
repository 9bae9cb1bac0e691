"""Where the steps of a study are computed: here, in worker processes, or on a cluster."""

import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.sharedctypes import Synchronized
from typing import Any, TypeVar, cast

from threadpoolctl import threadpool_limits

from veil.core.errors import EngineError, MissingExtraError

T = TypeVar("T")


class InlineExecutor(Executor):
    """Computes each step at once, in this process."""

    def submit(self, work: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:  # noqa: ANN401
        """Do the work, and return what came of it."""
        done: Future[T] = Future()
        try:
            done.set_result(work(*given, **named))
        except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
            done.set_exception(error)
        return done


def processes(workers: int) -> ProcessPoolExecutor:
    """Return fresh worker processes that share the processors among them.

    They end with this process, whatever ends it, and leave Ctrl-C to it.
    """
    spawn = multiprocessing.get_context("spawn")
    turn = spawn.Value("i", 0)
    return ProcessPoolExecutor(workers, spawn, _settle, (turn, workers))


def kill_workers(pool: Executor) -> None:
    """End worker processes at once: what they were doing is of no use any more.

    A worker that is killed in the middle of a result leaves half of it in the pipe. The pool's
    thread would read on for ever, and this program never end, as long as somebody could still
    write: so our own end of the pipe is closed, and it reads that no more will come.
    """
    running = dict(getattr(pool, "_processes", None) or {})
    results = getattr(getattr(pool, "_result_queue", None), "_writer", None)
    pool.shutdown(wait=False, cancel_futures=True)
    for process in running.values():
        process.kill()
    for process in running.values():
        process.join(5)
    if results is not None:
        with suppress(OSError):
            results.close()


def _settle(turn: "Synchronized[int]", workers: int) -> None:
    """Give a worker its share of the processors, and tie it to the life of its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    with turn.get_lock():
        number = turn.value
        turn.value += 1
    if hasattr(os, "sched_setaffinity"):  # every pool of threads is sized by what is allowed here
        allowed = sorted(os.sched_getaffinity(0))
        own = allowed[number % workers :: workers] or [allowed[number % len(allowed)]]
        with suppress(OSError):
            os.sched_setaffinity(0, own)
        threadpool_limits(len(own))
    else:
        threadpool_limits(1)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def dask_executor(address: str, seconds: float = 30.0) -> Iterator[Executor]:
    """Connect to the scheduler of a Dask cluster, whose workers have Veil and the data, too."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise MissingExtraError(
            "A Dask cluster needs distributed: pip install 'veil[dask]'."
        ) from None
    try:
        client = distributed.Client(address, timeout=seconds, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EngineError(
            f"No Dask scheduler answers at {address[:80]} ({type(error).__name__}); start one with"
            " 'dask scheduler', and workers with 'dask worker'."
        ) from None
    executor = client.get_executor(pure=False)
    try:
        yield cast(Executor, executor)
    finally:  # nothing is waited for: who leaves has all that is wanted, or wants no more
        with suppress(Exception):
            if client.status == "running":
                executor.shutdown(wait=False)
        with suppress(Exception):
            client.close(timeout=_GOODBYE)


_GOODBYE = 5.0  # seconds for a cluster to see us off


def is_cut_off(executor: Executor) -> bool:
    """Tell whether the scheduler of a cluster is gone; other executors have none."""
    status = getattr(getattr(executor, "_client", None), "status", "running")
    return bool(status != "running")
