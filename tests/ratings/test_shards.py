"""Stores and shares: the same result here, in processes and on a cluster."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.ratings.golden import made
from threadpoolctl import threadpool_limits

from veil import ratings
from veil.core.errors import InputError
from veil.ratings.ratings import Ratings
from veil.ratings.reader import open_store, save_store
from veil.ratings.recommenders.als import ALS
from veil.ratings.recommenders.dpcovariance import DPCovariance
from veil.ratings.recommenders.ials import IALS
from veil.ratings.recommenders.neighbours import ItemKNN
from veil.ratings.shards import likes_per_item, shards
from veil.studies.pool import InlineExecutor, dask_executor


@pytest.fixture
def stored(tmp_path: Path) -> Ratings:
    save_store(made(), tmp_path / "store")
    return open_store(str(tmp_path / "store"))


def test_a_store_holds_the_ratings(stored: Ratings, tmp_path: Path) -> None:
    data = made()
    assert (stored.users, stored.items, stored.scale) == (data.users, data.items, data.scale)
    for name in ("user", "item", "value", "order", "item_starts"):
        assert np.array_equal(getattr(stored, name), getattr(data, name))
    assert stored.value.dtype == np.float32
    assert isinstance(stored.user, np.memmap)
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("public", [True, False, None])
def test_a_store_keeps_whether_the_items_are_public(public: bool | None, tmp_path: Path) -> None:
    save_store(replace(made(), public=public), tmp_path / "said")
    assert open_store(str(tmp_path / "said")).public is public


def test_a_store_that_is_not_whole_is_refused(stored: Ratings, tmp_path: Path) -> None:
    del stored
    open_store.cache_clear()
    with (tmp_path / "store" / "item.npy").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x07")
    with pytest.raises(InputError, match="no complete store"):
        open_store(str(tmp_path / "store"))


def test_shares_cover_all_rows_once() -> None:
    data = made()
    parts = shards(data.starts, 7)
    rows = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    assert rows.tolist() == list(range(data.n))


def results(data: Ratings, executor: Executor | None) -> list[NDArray[Any]]:
    """Everything that is computed in shares."""
    train, test = ratings.split(data, executor=executor)
    likes = likes_per_item(data, 4, executor)
    users = np.arange(data.n)
    factors = [
        entry.fit(train, positive=4, rng=1, executor=executor).scores(users)
        for entry in (
            ALS(factors=3, iterations=2),
            IALS(factors=3, iterations=2),
            ItemKNN(k=4),
            DPCovariance(epsilon=1, delta=1e-4, factors=2),
        )
    ]
    model = ratings.recommender("popularity").fit(train, positive=4)
    actual = ratings.evaluate(model, test, k=5, executor=executor)
    return [test.user, test.item, likes, *factors, actual.per_user("ndcg"), actual.per_user("auc")]


def test_shares_give_what_the_whole_gives(stored: Ratings) -> None:
    for whole, parted in zip(
        results(stored, None), results(stored, InlineExecutor()), strict=True
    ):
        assert np.array_equal(whole, parted)


class OneThread(InlineExecutor):
    """Computes as a worker does whose products have one thread."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":  # noqa: ANN401
        with threadpool_limits(1):
            return super().submit(work, *given, **named)


def test_ials_is_the_same_whatever_threads_a_worker_has() -> None:
    data = made(900, 400, 0.03)
    model = IALS(factors=48, iterations=2)
    with threadpool_limits(4):
        whole = model.fit(data, positive=4, rng=1)
        parted = model.fit(data, positive=4, rng=1, executor=OneThread())
    assert np.array_equal(whole.users, parted.users)
    assert np.array_equal(whole.items, parted.items)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A Dask scheduler and two workers, each a process of its own."""
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    code = "import sys; from distributed.cli.{0} import main; sys.exit(main(sys.argv[1:]))"
    file = tmp_path / "scheduler.json"

    def started(kind: str, *given: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", code.format(kind), *given, "--scheduler-file", str(file)]
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[2],
        )

    local = ["--host", "127.0.0.1", "--no-dashboard"]
    running = [started("dask_scheduler", "--port", "0", *local)]
    while not file.is_file():
        assert running[0].poll() is None, "the scheduler ended"
        time.sleep(0.1)
    running += [started("dask_worker", "--no-nanny", "--nthreads", "1", *local) for _ in "12"]
    import json

    yield str(json.loads(file.read_text())["address"])
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of a library that is not ours
def test_a_cluster_gives_the_same(stored: Ratings, cluster: str) -> None:
    with dask_executor(cluster, 120) as executor:
        parted = results(stored, executor)
    for whole, part in zip(results(stored, None), parted, strict=True):
        assert np.array_equal(whole, part)
