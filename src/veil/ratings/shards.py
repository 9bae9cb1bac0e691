"""Work on shares of the users: in memory, in processes or on a cluster.

Results of shares are joined in order, so the result does not depend on the number of workers.
Memory-mapped ratings (`veil.ratings.reader`) travel as the path of their folder, which all workers
must be able to read.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Ids
from veil.ratings.ratings import Ratings


def free_memory() -> int:
    """Return the available memory in bytes, or 2 GB if it is unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - a file of the system
            entries = dict(line.split(":", 1) for line in lines)
        return int(entries["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_AVPHYS_PAGES"))
    except (OSError, ValueError, AttributeError):
        return 2 * 2**30


SHARDS = 16
A = TypeVar("A")


def shards(starts: Ids, count: int = SHARDS) -> list[slice]:
    """Return at most `count` shares of the rows, with about the same number of ratings each."""
    n, total = len(starts) - 1, int(starts[-1])
    inner = np.searchsorted(starts, np.arange(1, count) * (total / count)).tolist()
    return [slice(a, b) for a, b in pairwise([0, *inner, n]) if a < b]


def map_shards(
    executor: Executor | None, work: Callable[..., A], calls: Sequence[tuple[object, ...]]
) -> list[A]:
    """Call `work` with the arguments of each call, and return the results in order."""
    if executor is None:
        return [work(*arguments) for arguments in calls]
    jobs = [executor.submit(work, *arguments) for arguments in calls]
    return [job.result() for job in jobs]


def gather_shards(
    executor: Executor | None,
    work: Callable[..., NDArray[Any]],
    starts: Ids,
    *arguments: object,
) -> NDArray[Any]:
    """Call `work(part, *arguments)` for each share, and join the rows in order."""
    calls = [(part, *arguments) for part in shards(starts)]
    return np.concatenate(map_shards(executor, work, calls))


def shard_rows(data: Ratings, part: slice, *, of_items: bool = False) -> tuple[slice | Ids, Ids]:
    """Return the rows of some users (or items), and the first row of each among them."""
    starts = (data.item_starts if of_items else data.starts)[part.start : part.stop + 1]
    rows = slice(int(starts[0]), int(starts[-1]))
    return (data.order[rows] if of_items else rows), starts - starts[0]


def likes_per_item(data: Ratings, positive: float, executor: Executor | None = None) -> Ids:
    """Return the number of likes (m,) of each item, summed over shares of users."""
    counts = map_shards(executor, _likes, [(part, data, positive) for part in shards(data.starts)])
    return np.asarray(np.sum(counts, axis=0), dtype=np.int64)


def _likes(part: slice, data: Ratings, positive: float) -> Ids:
    rows, _ = shard_rows(data, part)
    liked = data.item[rows][data.value[rows] >= positive]
    return np.bincount(liked, minlength=data.m).astype(np.int64)
