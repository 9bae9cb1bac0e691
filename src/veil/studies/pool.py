"""Executors for the steps of a study: this process, worker processes, or a Dask cluster."""

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
    """Executor that computes each step at once, in this process."""

    def submit(self, work: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:  # noqa: ANN401
        """Return a completed future with the result or the error."""
        done: Future[T] = Future()
        try:
            done.set_result(work(*given, **named))
        except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
            done.set_exception(error)
        return done


def processes(workers: int) -> ProcessPoolExecutor:
    """Return new worker processes that divide the processors among themselves.

    They always end with this process, and ignore Ctrl-C.
    """
    spawn = multiprocessing.get_context("spawn")
    turn = spawn.Value("i", 0)
    return ProcessPoolExecutor(workers, spawn, _settle, (turn, workers))


def kill_workers(pool: Executor) -> None:
    """Kill worker processes at once, without waiting for their results.

    A worker that is killed while it sends a result leaves half of it in the pipe. The pool's
    thread would wait for the other half forever, because this process could still write to the
    pipe. Closing our end of the pipe ends the thread.
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
    """Limit a worker to its share of the processors, and end it with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    with turn.get_lock():
        number = turn.value
        turn.value += 1
    if hasattr(os, "sched_setaffinity"):  # thread pools adapt their size to this
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
    """Yield an executor on a Dask cluster, whose workers must have Veil and the data."""
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
            f"No Dask scheduler answers at {address[:80]} ({type(error).__name__}). Start one with"
            " 'dask scheduler', and workers with 'dask worker'."
        ) from None
    executor = client.get_executor(pure=False)
    try:
        yield cast(Executor, executor)
    finally:  # do not wait: all results are here, or no longer needed
        with suppress(Exception):
            if client.status == "running":
                executor.shutdown(wait=False)
        with suppress(Exception):
            client.close(timeout=_GOODBYE)


_GOODBYE = 5.0  # seconds to disconnect from a cluster


def is_cut_off(executor: Executor) -> bool:
    """Return whether an executor has lost the scheduler of its cluster."""
    status = getattr(getattr(executor, "_client", None), "status", "running")
    return bool(status != "running")
